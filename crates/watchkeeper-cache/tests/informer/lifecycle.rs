//! The lifecycle of informers, and the requests they send.

use std::sync::Arc;

use parking_lot::Mutex;
use watchkeeper_cache::handler::{Handler, SubscriptionOptions};
use watchkeeper_cache::reflector::ExitReason;
use watchkeeper_cache::{Informer, InformerFactory};
use watchkeeper_testkit::script::{List, Script, Watch, object};
use watchkeeper_testkit::{Fault, Verb};
use watchkeeper_wire::Kind;

use crate::{PATIENCE, World, config_maps};

fn informer(script: &Script) -> Informer {
    Informer::new(Kind::new("", "v1", "ConfigMap"), script.clone())
}

fn one_object() -> Script {
    let list = List::at(1).item(object("a", 1));
    Script::new().without_initial_events().then(list).then(Watch::new().stalls())
}

#[tokio::test(start_paused = true)]
async fn a_stopped_informer_stays_readable_and_cannot_be_started() {
    let script = one_object();
    let maps = informer(&script);
    assert!(!maps.is_started() && !maps.is_ready());
    maps.start();
    maps.start();
    script.played().await;
    assert!(maps.is_started() && maps.wait_until_ready().await);
    maps.stop().await;
    maps.stop().await;
    assert_eq!(maps.exited().await, ExitReason::Stopped);
    maps.start();
    assert!(maps.is_started() && maps.is_ready());
    let mut late = maps.subscribe(SubscriptionOptions::default());
    assert_eq!(late.next().await.unwrap().newest().metadata.key().name(), "a");
    assert_eq!(late.next().await, None);
    assert_eq!((script.requests().len(), script.open()), (2, 0));

    let never = informer(&script);
    never.stop().await;
    never.start();
    assert!(!never.wait_until_ready().await, "does not start after stop");
    assert_eq!(script.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_or_dropped_informer_leaves_no_task() {
    for with_handler in [false, true] {
        for is_dropped in [false, true] {
            let script = one_object();
            let maps = informer(&script);
            let calls = Arc::new(Mutex::new(0));
            let handler = with_handler.then(|| {
                let calls = calls.clone();
                Handler::start(maps.subscribe(SubscriptionOptions::default()), move |_| *calls.lock() += 1)
            });
            maps.start();
            script.played().await;
            match (is_dropped, handler) {
                (true, handler) => {
                    drop(maps);
                    if let Some(handler) = handler {
                        assert_eq!(script.open(), 1, "kept running by its handler");
                        handler.stop().await;
                    }
                    while script.open() > 0 {
                        tokio::task::yield_now().await;
                    }
                }
                (false, handler) => {
                    maps.stop().await;
                    if let Some(handler) = handler {
                        handler.finished().await;
                    }
                }
            }
            assert_eq!((script.open(), *calls.lock()), (0, i32::from(with_handler)));
            assert_eq!(Arc::strong_count(&calls), 1, "no task is running");
        }
    }
}

#[tokio::test]
async fn one_watch_delivers_the_initial_state_and_changes_with_selectors() {
    let world = World::start().await;
    world.create("a", "web").await;
    world.create("b", "db").await;
    let lists = world.cluster.faults().add(Fault::on(Verb::List).resource("configmaps").answer(500));
    let factory = InformerFactory::new(world.client.clone());
    let web = factory.informer(
        &config_maps()
            .namespace(world.cluster.namespace())
            .labels(&"app=web".parse().unwrap())
            .fields(&"metadata.name!=hidden".parse().unwrap()),
    );
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    world.create("c", "db").await;
    world.create("hidden", "web").await;
    let last = world.create("d", "web").await;
    let version = last.resource_version().into();
    tokio::time::timeout(PATIENCE, web.store().wait_for(&version)).await.unwrap();
    let now = web.store().snapshot();
    assert_eq!(now.iter().map(|map| map.metadata.key().name()).collect::<Vec<_>>(), ["a", "d"]);
    assert_eq!(lists.hits(), 0, "nothing was listed");
    factory.stop().await;
    world.cluster.stop().await;
}
