//! Read-your-writes: a call never sees a cache older than what earlier calls for its key have written.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use watchkeeper_cache::InformerFactory;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::rest::PatchKind;
use watchkeeper_client::{Client, Config};
use watchkeeper_controller::{Action, Controller, Error};
use watchkeeper_core::{Collection, ObjectKey};
use watchkeeper_testkit::TestCluster;
use watchkeeper_wire::Kind;

const LAST: u64 = 50;

struct Counter {
    maps: ResourceClient<Value>,
    seen: Mutex<Vec<u64>>,
    done: Notify,
}

/// Increments the number that the cache shows.
async fn increment(map: Arc<Value>, counter: Arc<Counter>) -> Result<Action, Error> {
    let number: u64 = map["data"]["number"].as_str().unwrap_or("0").parse()?;
    if number == LAST {
        counter.done.notify_one();
        return Ok(Action::await_change());
    }
    counter.seen.lock().push(number);
    let patch = json!({"data": {"number": (number + 1).to_string()}});
    counter.maps.patch("counter", PatchKind::Merge, &patch, &Default::default()).await?;
    Ok(Action::await_change())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_sees_what_earlier_calls_for_its_key_wrote() {
    let cluster = TestCluster::start().await.unwrap();
    let sources = Sources::File(cluster.kubeconfig_path().to_owned());
    let client = Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap();
    let maps: ResourceClient<Value> = client.resource("configmaps", &Kind::new("", "v1", "ConfigMap"));
    let maps = maps.namespace(cluster.namespace());
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "counter", "labels": {"counts": "yes"}}, "data": {"number": "0"},
    });
    maps.create(&map, &Default::default()).await.unwrap();

    let factory = InformerFactory::new(client);
    let collection = Collection::new("", "v1", "configmaps", "ConfigMap").namespace(cluster.namespace());
    let informer = factory.informer(&collection.labels(&"counts=yes".parse().unwrap()));
    factory.start();
    let (sender, keys) = mpsc::channel(1);
    let key = ObjectKey::namespaced(cluster.namespace(), "counter");
    // The key is always queued, so that the next call starts as soon as it may.
    let hammering = tokio::spawn(async move { while sender.send(key.clone()).await.is_ok() {} });
    let counter = Arc::new(Counter { maps, seen: Mutex::default(), done: Notify::new() });
    let stop =
        async { tokio::time::timeout(Duration::from_secs(30), counter.done.notified()).await.unwrap() };
    Controller::new("counter", &informer).reconcile_on(keys).run(increment, counter.clone(), stop).await;

    assert_eq!(*counter.seen.lock(), (0..LAST).collect::<Vec<_>>(), "each number once");
    hammering.abort();
    factory.stop().await;
    cluster.stop().await;
}
