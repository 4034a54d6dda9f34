//! What ends although nobody stopped it (G3).

use std::time::Duration;

use watchkeeper_cache::InformerFactory;
use watchkeeper_cache::reflector::ExitReason;
use watchkeeper_controller::{Controller, Manager, ManagerError};
use watchkeeper_core::{Collection, GroupResource, ListWatch, Status};
use watchkeeper_testkit::script::{Script, Watch, object};

use crate::{Story, collection, controller, factory};

#[tokio::test(start_paused = true)]
async fn a_controller_that_has_nothing_left_to_hear_ends_the_whole() {
    let gone = || Status::not_found(&GroupResource { group: "x".into(), resource: "shops".into() }, "");
    let factory = InformerFactory::new(move |collection: &Collection| {
        let watch = Watch::new().added(object("x/a", 1)).initial_events_end(2);
        let script = match collection.resource() {
            "shops" => Script::new()
                .then(watch.wait(Duration::from_secs(3)).fails(gone()))
                .watch_fails(gone())
                .list_fails(gone()),
            _ => Script::new().then(watch.stalls()),
        };
        Box::new(script) as Box<dyn ListWatch>
    });
    let story = Story::new();
    let mut manager = Manager::new(&factory);
    manager.add(controller("shops", &factory), story.telling("shops"));
    manager.add(controller("banks", &factory), story.telling("banks"));
    match manager.run_until(std::future::pending()).await {
        Err(ManagerError::ControllerEnded { name, why: ExitReason::Gone(status) }) => {
            assert_eq!((name.as_str(), status.is_not_found()), ("shops", true));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(story.told().len(), 2, "{:?}", story.told());
    assert_eq!(
        factory.informer(&collection("banks")).exited().await,
        ExitReason::Stopped,
        "in order all the same"
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_that_fails_or_panics_ends_the_whole_and_one_that_is_done_does_not() {
    for panics in [false, true] {
        let (story, factory) = (Story::new(), factory(Duration::ZERO));
        let mut manager = Manager::new(&factory);
        manager.add(controller("shops", &factory), story.telling("called"));
        manager.spawn("done", |_| async { Ok(()) });
        let told = story.clone();
        manager.spawn("worried", move |stop| async move {
            stop.cancelled().await;
            told.tell("worried");
            Err("too".into())
        });
        manager.spawn("failing", move |_| async move {
            crate::after(2).await;
            assert!(!panics, "no more");
            Err("no disk".into())
        });
        let error = manager.run_until(std::future::pending()).await.unwrap_err();
        match error {
            ManagerError::Task { name, source } if !panics => {
                assert_eq!((name.as_str(), source.to_string().as_str()), ("failing", "no disk"));
            }
            ManagerError::Panicked { name, message } if panics => {
                assert_eq!((name.as_str(), message.as_str()), ("failing", "no more"));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(story.told(), ["called@0", "worried@2"]);
    }
}

#[tokio::test]
async fn what_cannot_be_had_is_refused() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, factory) = (taken.local_addr().unwrap(), factory(Duration::ZERO));
    let refused = Manager::new(&factory).serve(address).unwrap_err();
    assert_eq!(refused.to_string(), format!("{address} cannot be listened on"));

    let registry = watchkeeper_metrics::Registry::new();
    registry.counter("controller_reconcile_total", "Something else.", []).unwrap();
    let mut manager = Manager::new(&factory).metrics(&registry);
    let informer = factory.informer(&collection("shops"));
    manager.add(Controller::new("shops", &informer), Story::new().telling("called"));
    let refused = manager.run_until(std::future::pending()).await;
    assert!(matches!(refused, Err(ManagerError::Metrics(_))), "{refused:?}");
}
