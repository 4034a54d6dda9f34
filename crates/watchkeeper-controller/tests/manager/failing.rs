//! Parts that end by themselves (`manager.G3`).

use std::sync::Arc;
use std::time::Duration;

use watchkeeper_cache::InformerFactory;
use watchkeeper_cache::reflector::ExitReason;
use watchkeeper_controller::{Controller, Manager, ManagerError};
use watchkeeper_core::{Collection, GroupResource, ListWatch, Status};
use watchkeeper_testkit::script::{Script, Watch, object};

use crate::{Story, collection, controller, factory};

#[tokio::test(start_paused = true)]
async fn a_controller_whose_informer_ends_stops_the_manager() {
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
    manager.add(controller("shops", &factory), story.recording("shops"), Arc::new(()));
    manager.add(controller("banks", &factory), story.recording("banks"), Arc::new(()));
    match manager.run_until(std::future::pending()).await {
        Err(ManagerError::ControllerEnded { name, why: ExitReason::Gone(status) }) => {
            assert_eq!((name.as_str(), status.is_not_found()), ("shops", true));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(story.entries().len(), 2, "{:?}", story.entries());
    assert_eq!(
        factory.informer(&collection("banks")).exited().await,
        ExitReason::Stopped,
        "shutdown is still in order"
    );
}

#[tokio::test(start_paused = true)]
async fn a_failing_or_panicking_task_stops_the_manager_and_a_finished_one_does_not() {
    for panics in [false, true] {
        let (story, factory) = (Story::new(), factory(Duration::ZERO));
        let mut manager = Manager::new(&factory);
        manager.add(controller("shops", &factory), story.recording("called"), Arc::new(()));
        manager.spawn("done", |_| async { Ok(()) });
        let log = story.clone();
        manager.spawn("worried", move |stop| async move {
            stop.cancelled().await;
            log.record("worried");
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
        assert_eq!(story.entries(), ["called@0", "worried@2"]);
    }
}

#[tokio::test]
async fn a_used_address_and_a_used_metric_name_are_errors() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, factory) = (taken.local_addr().unwrap(), factory(Duration::ZERO));
    let refused = Manager::new(&factory).serve(address).unwrap_err();
    assert_eq!(refused.to_string(), format!("failed to listen on {address}"));

    let registry = watchkeeper_metrics::Registry::new();
    registry.counter("controller_reconcile_total", "Something else.", []).unwrap();
    let mut manager = Manager::new(&factory).metrics(&registry);
    let informer = factory.informer(&collection("shops"));
    manager.add(Controller::new("shops", &informer), Story::new().recording("called"), Arc::new(()));
    let refused = manager.run_until(std::future::pending()).await;
    assert!(matches!(refused, Err(ManagerError::Metrics(_))), "{refused:?}");
}
