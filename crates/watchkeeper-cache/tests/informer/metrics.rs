//! The metrics of informers.

use std::time::Duration;

use watchkeeper_cache::handler::{Filter, Handler, SubscriptionOptions};
use watchkeeper_cache::metrics::InformerMetrics;
use watchkeeper_cache::{Informer, InformerFactory};
use watchkeeper_core::{Collection, ListWatch, Status, WatchError};
use watchkeeper_metrics::Registry;
use watchkeeper_testkit::script::{List, Script, Watch, object};
use watchkeeper_wire::Kind;

/// Returns the lines of a metric family, without the family and the `name` label.
fn lines(registry: &Registry, family: &str) -> Vec<String> {
    let page = registry.render();
    let own = page.lines().filter_map(|line| line.strip_prefix(family)?.strip_prefix('{'));
    own.map(|line| line.replace("name=\"w\"", "").replace("},", "}").replace("{,", "{")).collect()
}

fn measured(script: &Script) -> (Registry, Informer) {
    let registry = Registry::new();
    let metrics = InformerMetrics::new(&registry).unwrap();
    let kind = Kind::new("", "v1", "ConfigMap");
    let informer = Informer::builder(kind, script.clone())
        .configure(|reflector| {
            reflector.name("w").seed(1).transform(|object| match object.metadata.key().name() {
                "bad" => Err("it is bad".into()),
                _ => Ok(()),
            })
        })
        .build();
    informer.measure(&metrics);
    (registry, informer)
}

#[tokio::test(start_paused = true)]
async fn lists_watches_relists_and_skipped_objects_are_counted() {
    let second = Duration::from_secs(1);
    let script = Script::new()
        .without_initial_events()
        .list_fails(Status::forbidden(None, "", "no"))
        .then(List::at(20).wait(2 * second).items([object("a", 10), object("b", 20), object("bad", 5)]))
        .then(Watch::new().wait(4 * second).modified(object("a", 30)).fails(Status::expired("too old")))
        .then(List::at(40).item(object("a", 30)))
        .then(Watch::new()) // ends at once
        .then(List::at(41))
        .then(Watch::new().wait(second).fails(WatchError::Malformed("no JSON".into())))
        .then(List::at(42).item(object("a", 42)))
        .then(Watch::new().added(object("c", 43)).stalls());
    let (registry, informer) = measured(&script);
    informer.start();
    script.played().await;

    let value = |family: &str| lines(&registry, family);
    assert_eq!(value("reflector_lists_total"), ["} 5"]);
    assert_eq!(value("reflector_watches_total"), ["} 4"]);
    assert_eq!(value("reflector_short_watches_total"), ["} 1"]);
    assert_eq!(value("reflector_list_duration_seconds_sum"), ["} 2"]);
    assert_eq!(value("reflector_list_duration_seconds_count"), ["} 4"]);
    assert_eq!(value("reflector_items_per_list_sum"), ["} 5"]);
    assert_eq!(value("reflector_watch_duration_seconds_sum"), ["} 5"]);
    assert_eq!(value("reflector_items_per_watch_sum"), ["} 1"], "counts only ended watches");
    assert_eq!(value("reflector_last_resource_version"), ["} 43"]);
    assert_eq!(value("informer_store_resource_version"), ["} 43"]);
    assert_eq!(
        value("reflector_relists_total"),
        [
            ",reason=\"expired\"} 1",
            ",reason=\"list_failed\"} 1",
            ",reason=\"malformed\"} 1",
            ",reason=\"short_watch\"} 1"
        ]
    );
    assert_eq!(value("reflector_failures_total"), [",operation=\"list\"} 1"]);
    assert_eq!(value("reflector_decode_errors_total"), ["} 1"]);
    assert_eq!(value("reflector_skipped_objects_total"), [",reason=\"not_transformed\"} 1"]);
    assert_eq!(value("informer_store_objects"), ["} 2"]);
    let sizes = informer.store().snapshot().sizes();
    assert_eq!(
        value("informer_store_bytes"),
        [
            format!(",cause=\"bodies\"}} {}", sizes.bodies),
            format!(",cause=\"entries\"}} {}", sizes.entries),
            format!(",cause=\"indexes\"}} {}", sizes.indexes),
            format!(",cause=\"metadata\"}} {}", sizes.metadata),
        ]
    );

    informer.stop().await;
    drop(informer);
    assert_eq!(value("informer_store_objects"), [""; 0], "a dropped informer is not reported");
    assert_eq!(value("reflector_lists_total"), ["} 5"]);
}

#[tokio::test(start_paused = true)]
async fn handler_metrics_report_pending_lag_coalesced_dropped_and_panics() {
    let script = Script::new().without_initial_events().then(List::at(1).item(object("a", 1))).then(
        Watch::new()
            .wait(Duration::from_secs(10))
            .modified(object("a", 2))
            .added(object("b", 3))
            .modified(object("a", 4))
            .modified(object("a", 5))
            .stalls(),
    );
    let (registry, informer) = measured(&script);
    let named = |name: &str| SubscriptionOptions { name: name.to_owned(), ..SubscriptionOptions::default() };
    let mut slow = informer.subscribe(named("slow"));
    let mut quick = Handler::start(informer.subscribe(named("quick")).on_panic(|_| ()), |change| {
        assert_ne!(change.newest().metadata.key().name(), "b", "of all things");
    });
    let mut every = informer.raw_events(Filter::default(), 2);
    informer.start();
    assert!(quick.caught_up().await);
    slow.next().await.unwrap();
    every.next().await.unwrap();
    script.played().await;
    tokio::time::advance(Duration::from_millis(2500)).await;

    let value = |family: &str| lines(&registry, family);
    let rows = |every: &str, quick: &str, slow: &str| {
        [("", every), ("quick", quick), ("slow", slow)]
            .map(|(handler, value)| format!(",handler=\"{handler}\"}} {value}"))
    };
    assert_eq!(value("informer_queued_items"), rows("2", "0", "2"));
    assert_eq!(value("informer_handler_lag_seconds"), rows("2.5", "0", "2.5"));
    assert_eq!(value("informer_handler_coalesced_total")[2], rows("0", "0", "2")[2]);
    assert_eq!(value("informer_handler_dropped_total"), rows("2", "0", "0"));
    assert_eq!(value("informer_handler_panics_total"), rows("0", "1", "0"));
    assert_eq!((slow.pending(), slow.lag()), (2, Duration::from_millis(2500)));

    slow.next().await.unwrap();
    assert_eq!(value("informer_queued_items")[2], rows("", "", "1")[2]);
    drop(slow);
    assert_eq!(value("informer_queued_items").len(), 2, "a dropped subscription is not reported");
    informer.stop().await;
}

#[tokio::test(start_paused = true)]
async fn factory_metrics_cover_existing_and_future_informers() {
    let registry = Registry::new();
    let factory = InformerFactory::new(|_: &Collection| {
        let script = Script::new().without_initial_events().then(List::at(7)).then(Watch::new().stalls());
        Box::new(script) as Box<dyn ListWatch>
    });
    factory.informer(&Collection::PODS);
    factory.measure(&InformerMetrics::new(&registry).unwrap());
    factory.informer(&Collection::NODES);
    factory.start();
    factory.wait_until_ready(Duration::from_secs(1)).await.unwrap();
    let versions = lines(&registry, "informer_store_resource_version");
    assert_eq!(versions, ["name=\"nodes.v1\"} 7", "name=\"pods.v1\"} 7"]);
    assert_eq!(lines(&registry, "reflector_lists_total"), ["name=\"nodes.v1\"} 1", "name=\"pods.v1\"} 1"]);
    assert!(InformerMetrics::new(&registry).is_err(), "already registered");
    factory.stop().await;
}
