//! Informers when a custom resource definition is deleted from the real server and created again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;
use watchkeeper_cache::handler::SubscriptionOptions;
use watchkeeper_cache::reflector::ExitReason;
use watchkeeper_cache::{InformerFactory, Keep, Notification};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_core::{
    Collection, ListRequest, ListStream, ListWatch, ListWatchFactory, WatchFuture, WatchRequest,
};
use watchkeeper_oracle::Cluster;

/// Time limit for a condition to be met.
const TIMEOUT: Duration = Duration::from_secs(240);

const DEFINITION: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"gadgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced",
"names":{"plural":"gadgets","singular":"gadget","kind":"Gadget"},
"versions":[{"name":"v1","served":true,"storage":true,
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#;

/// A factory whose sources count their requests.
#[derive(Clone)]
struct CountingFactory {
    client: Client,
    requests: Arc<AtomicUsize>,
}

struct CountingSource {
    source: Box<dyn ListWatch>,
    requests: Arc<AtomicUsize>,
}

impl ListWatchFactory for CountingFactory {
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch> {
        Box::new(CountingSource { source: self.client.source(collection), requests: self.requests.clone() })
    }
}

impl ListWatch for CountingSource {
    fn list(&self, request: ListRequest) -> ListStream {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.source.list(request)
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.source.watch(request)
    }
}

/// Creates the definition, and an object of it.
async fn define(cluster: &Cluster, gadget: &str) {
    let definition = cluster.directory().join("definition.json");
    fs::write(&definition, DEFINITION).unwrap();
    let definition = definition.to_str().unwrap();
    cluster.kubectl().stdout(["create", "-f", definition], "").await.unwrap();
    let wait = ["wait", "--for=condition=Established", "--timeout=30s", "-f", definition];
    cluster.kubectl().stdout(wait, "").await.unwrap();
    let file = cluster.directory().join("gadget.json");
    let object =
        format!(r#"{{"apiVersion":"shop.example.com/v1","kind":"Gadget","metadata":{{"name":"{gadget}"}}}}"#);
    fs::write(&file, object).unwrap();
    // The real server reports a definition as established before all of its handlers serve it.
    timeout(TIMEOUT, async {
        let create = ["create", "-f", file.to_str().unwrap()];
        while cluster.kubectl().run(create, "").await.unwrap().code != Some(0) {}
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn the_informer_of_a_deleted_definition_exits_and_a_new_one_can_start() {
    let cluster = Cluster::start().await.unwrap();
    let config =
        Config::load(&Sources::File(cluster.kubeconfig().to_owned()), &Overrides::default()).unwrap();
    let counting = CountingFactory { client: Client::new(&config).unwrap(), requests: Arc::default() };
    let requests = counting.requests.clone();
    define(&cluster, "one").await;

    let gadgets = Collection::new("shop.example.com", "v1", "gadgets", "Gadget").namespace("default");
    let factory = InformerFactory::new(counting);
    let mut exits = factory.exits();
    let first = factory.informer(&gadgets);
    factory.start();
    factory.wait_until_ready(TIMEOUT).await.unwrap();
    let mut changes = first.reader::<Value>(Keep::Encoded).changes(SubscriptionOptions::default());
    assert!(matches!(changes.next().await, Some(Notification::Added { new, .. }) if new["kind"] == "Gadget"));

    let before = requests.load(Ordering::SeqCst);
    cluster.kubectl().stdout(["delete", "crd", "gadgets.shop.example.com"], "").await.unwrap();
    let exit = timeout(TIMEOUT, exits.next()).await.unwrap().unwrap();
    assert_eq!(exit.collection, gadgets);
    assert!(matches!(&exit.reason, ExitReason::Gone(status) if status.is_not_found()), "{}", exit.reason);
    // The server deletes the objects before the definition.
    assert!(matches!(changes.next().await, Some(Notification::Deleted { .. })));
    assert!(changes.next().await.is_none());
    let sent = requests.load(Ordering::SeqCst) - before;
    assert!(sent <= 6, "{sent} requests");

    define(&cluster, "two").await;
    assert_eq!(requests.load(Ordering::SeqCst) - before, sent, "requests after the informer exited");
    let second = factory.informer(&gadgets);
    factory.start();
    factory.wait_until_ready(TIMEOUT).await.unwrap();
    let names = |snapshot: watchkeeper_cache::Snapshot| -> Vec<String> {
        snapshot.iter().map(|gadget| gadget.metadata.key().name().to_owned()).collect()
    };
    assert_eq!(names(second.store().snapshot()), ["two"]);
    assert_eq!(names(first.store().snapshot()), [""; 0]);
    factory.stop().await;
}
