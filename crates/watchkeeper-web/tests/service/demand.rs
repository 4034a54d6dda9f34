//! Resources that are cached on demand.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use watchkeeper_cache::reflector::ExitReason;
use watchkeeper_client::discovery::MISS_INTERVAL;
use watchkeeper_client::rest::Content;
use watchkeeper_core::GroupVersion;
use watchkeeper_testkit::{Fault, Verb};
use watchkeeper_web::catalog::{ALWAYS_CACHED, IDLE_TIMEOUT, MAX_ON_DEMAND};

use crate::world::{LONG, World};

fn widgets(versions: usize) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = |number: usize| json!({"name": format!("v{number}"), "served": true, "storage": number == 1, "schema": schema});
    let versions: Vec<Value> = (1..=versions).map(version).collect();
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}}})
}

fn is_cached(world: &World, resource: &str) -> bool {
    world.service.catalog().cached().iter().any(|mapping| mapping.resource.resource == resource)
}

/// Advances the paused clock.
async fn pass(time: Duration) {
    tokio::time::pause();
    sleep(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn idle_resources_are_evicted() {
    let world = World::of(&[]).await;
    assert!(!is_cached(&world, "configmaps"));
    world.get("/configmaps/core/v1").await.data();
    let read = world.service.catalog().watched("", "v1", "configmaps").await.unwrap();
    pass(IDLE_TIMEOUT * 2).await;
    assert!(is_cached(&world, "configmaps"), "it has a reader");

    drop(read);
    pass(IDLE_TIMEOUT - Duration::from_secs(60)).await;
    assert!(is_cached(&world, "configmaps"), "it was read recently");
    pass(Duration::from_secs(120)).await;
    assert!(!is_cached(&world, "configmaps"));
    assert_eq!(world.service.catalog().cached().len(), ALWAYS_CACHED.len());

    world.get("/configmaps/core/v1").await.data();
    assert!(is_cached(&world, "configmaps"), "it is cached again on demand");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_demand_informers_are_limited() {
    let world = World::of(&[widgets(MAX_ON_DEMAND + 2)]).await;
    let catalog = world.service.catalog();
    let mut read = Vec::new();
    for number in 1..=MAX_ON_DEMAND {
        read.push(catalog.watched("example.com", &format!("v{number}"), "widgets").await.unwrap());
    }
    let path = format!("/widgets/example.com/v{}", MAX_ON_DEMAND + 1);
    let full = world.get(&path).await;
    assert_eq!(full.failure(503), "64 on-demand resources are already in use; try again later");
    assert_eq!(full.headers["retry-after"], "60");

    read.remove(6);
    world.get(&path).await.data();
    assert_eq!(catalog.cached().len(), ALWAYS_CACHED.len() + MAX_ON_DEMAND);
    let is_there = |version: &str| catalog.cached().iter().any(|mapping| mapping.resource.version == version);
    assert!(!is_there("v7"), "the idle one was evicted");
    assert!(is_there("v8"));
    world.stop().await;
}

#[tokio::test]
async fn a_slow_first_list_is_a_503_and_continues() {
    let world = World::of(&[]).await;
    let faults = world.cluster.faults();
    let broken =
        [Verb::List, Verb::Watch].map(|verb| faults.add(Fault::on(verb).resource("configmaps").answer(500)));
    tokio::time::pause(); // skips the ten seconds of waiting
    let late = world.get("/configmaps/core/v1").await;
    tokio::time::resume();
    assert_eq!(
        late.failure(503),
        "first list of configmaps/core/v1 not complete after 10 s; it continues, try again"
    );
    assert_eq!(late.headers["retry-after"], "1");
    assert!(broken.iter().any(|fault| fault.hits() > 0));

    broken.iter().for_each(|fault| fault.remove());
    tokio::time::pause(); // the backoff grows with each failure
    let mut asked = 0;
    while world.get("/configmaps/core/v1").await.status != 200 {
        asked += 1;
        assert!(asked < 20, "the first list does not continue");
    }
    tokio::time::resume();
    world.stop().await;
}

#[tokio::test]
async fn resources_follow_their_definitions() {
    let world = World::of(&[]).await;
    world.get("/widgets/example.com/v1").await.failure(404);
    world.cluster.create(widgets(1)).await.unwrap();
    pass(MISS_INTERVAL).await;
    assert_eq!(world.get("/widgets/example.com/v1").await.data(), json!([]));

    let informer = world.service.catalog().watched("example.com", "v1", "widgets").await.unwrap().informer;
    let rest = world.client.rest(&GroupVersion::new("apiextensions.k8s.io", "v1"), Content::json());
    rest.delete().resource("customresourcedefinitions").name("widgets.example.com").raw().await.unwrap();
    let why = timeout(LONG, informer.exited()).await.unwrap();
    assert!(matches!(why, ExitReason::Gone(_)), "{why}");
    let gone = world.get("/widgets/example.com/v1").await.failure(404);
    assert!(gone.starts_with("resource widgets/example.com/v1 not found"), "{gone}");
    assert!(!is_cached(&world, "widgets"));
    world.stop().await;
}
