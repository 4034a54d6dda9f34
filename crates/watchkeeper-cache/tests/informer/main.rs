//! Informers of the embedded server, through the client.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod dump;
mod factory;
mod in_process;
mod intake;
mod lifecycle;
mod metrics;
mod reconnect;

use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use watchkeeper_cache::handler::{Handler, SubscriptionOptions};
use watchkeeper_cache::store::by_field;
use watchkeeper_cache::{InformerFactory, Keep, Notification, Store};
use watchkeeper_client::dynamic::{DynamicApi, DynamicObject};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_client::{Client, Config};
use watchkeeper_core::{Collection, ObjectKey};
use watchkeeper_testkit::{Fault, Requests, TestCluster, Verb};
use watchkeeper_wire::{Kind, decode};

const PATIENCE: Duration = Duration::from_secs(20);

struct World {
    cluster: TestCluster,
    client: Client,
}

impl World {
    async fn start() -> Self {
        let cluster = TestCluster::start().await.unwrap();
        let file = Sources::File(cluster.kubeconfig_path().to_owned());
        let client = Client::new(&Config::load(&file, &Overrides::default()).unwrap()).unwrap();
        Self { cluster, client }
    }

    fn maps(&self) -> DynamicApi {
        self.client.dynamic(&"v1".parse().unwrap(), "configmaps").namespace(self.cluster.namespace())
    }

    async fn create(&self, name: &str, app: &str) -> DynamicObject {
        let mut map = DynamicObject::new("v1", "ConfigMap", name);
        map.set(&["metadata", "labels", "app"], app.into());
        map.set(&["data", "name"], name.into());
        self.maps().create(&map, &Default::default()).await.unwrap()
    }

    async fn change(&self, name: &str, data: &Value) -> DynamicObject {
        self.maps().patch(name, PatchKind::Merge, &json!({"data": data}), &Default::default()).await.unwrap()
    }

    /// Returns the objects of the server by key.
    async fn served(&self) -> BTreeMap<String, Value> {
        let all = self.client.dynamic(&"v1".parse().unwrap(), "configmaps");
        let list = all.list(&Default::default()).await.unwrap();
        list.items
            .into_iter()
            .map(|map| (format!("{}/{}", map.namespace(), map.name()), map.into()))
            .collect()
    }
}

fn config_maps() -> Collection {
    Collection::CONFIG_MAPS
}

/// Returns the objects of a store by key.
fn kept(store: &Store) -> BTreeMap<String, Value> {
    let kind = Kind::new("", "v1", "ConfigMap");
    let now = store.snapshot();
    now.iter().map(|map| (map.metadata.key().to_string(), decode(&map.encoded, &kind).unwrap())).collect()
}

#[derive(Deserialize, Debug)]
struct View {
    data: BTreeMap<String, String>,
}

#[tokio::test]
async fn one_watch_serves_every_reader_and_every_handler() {
    let world = World::start().await;
    let before = world.create("a", "web").await;
    let factory = InformerFactory::new(world.client.clone());
    let maps = factory.informer(&config_maps());
    let by_name = by_field(Kind::new("", "v1", "ConfigMap"), "data.name".parse().unwrap());
    maps.add_index("name", by_name).unwrap();
    let names = Arc::new(Mutex::new(Vec::new()));
    let mut handler = Handler::start(maps.subscribe(SubscriptionOptions::default()), {
        let names = names.clone();
        move |change| names.lock().push(change.newest().metadata.key().name().to_owned())
    });
    let again = factory.informer(&config_maps());
    factory.start();
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    assert!(handler.caught_up().await);
    assert!(names.lock().contains(&"a".to_owned()));
    assert!(again.is_ready() && again.store().snapshot().version() == maps.store().snapshot().version());

    let reader = again.reader::<View>(Keep::Encoded).namespace(world.cluster.namespace());
    let mut changes = reader.changes(SubscriptionOptions::default());
    assert!(matches!(changes.next().await, Some(Notification::Added { initial: true, .. })));
    let changed = world.change("a", &json!({"x": "1"})).await;
    let Some(Notification::Updated { old, new }) = changes.next().await else { panic!("not updated") };
    assert_eq!((old.data.get("x"), new.data.get("x")), (None, Some(&"1".to_owned())));
    assert_ne!(before.resource_version(), changed.resource_version());
    world.create("b", "db").await;
    maps.store().wait_for(&world.create("c", "web").await.resource_version().into()).await;
    assert_eq!(reader.list(&"app=web".parse().unwrap()).items().unwrap().len(), 2);
    assert_eq!(reader.by_index("name", "b").unwrap().items().unwrap().len(), 1);
    world.maps().delete("a", &Default::default()).await.unwrap();
    loop {
        match changes.next().await.unwrap() {
            Notification::Deleted { last: Some(last), .. } => {
                assert_eq!(last.data.get("x"), Some(&"1".to_owned()));
                break;
            }
            Notification::Added { initial: false, .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(kept(maps.store()), world.served().await);

    factory.stop().await;
    assert!(changes.next().await.is_none());
    handler.finished().await;
    assert_eq!(maps.store().snapshot().len(), world.served().await.len(), "the store stays readable");
    factory.start();
    drop((maps, again, reader, changes));
    world.cluster.stop().await;
}

#[tokio::test]
async fn collections_with_selectors_have_their_own_informers() {
    let world = World::start().await;
    for (name, app) in [("a", "web"), ("b", "db"), ("c", "web")] {
        world.create(name, app).await;
    }
    let namespace = world.cluster.namespace();
    let factory = InformerFactory::new(world.client.clone());
    let everywhere = factory.informer(&config_maps());
    let web = factory.informer(&config_maps().namespace(namespace).labels(&"app=web".parse().unwrap()));
    let one = factory.informer(&config_maps().fields(&"metadata.name=b".parse().unwrap()));
    let heads = factory.informer(&config_maps().namespace(namespace).metadata_only());
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    assert_eq!(kept(everywhere.store()), world.served().await);
    let names = |store: &Store| -> Vec<String> {
        store.snapshot().iter().map(|map| map.metadata.key().name().to_owned()).collect()
    };
    assert_eq!(names(web.store()), ["a", "c"]);
    assert_eq!(names(one.store()), ["b"]);
    let alone = heads.reader::<Value>(Keep::Encoded).namespace(namespace).get("a").unwrap().unwrap();
    assert_eq!(
        (&alone["kind"], &alone["metadata"]["labels"]["app"]),
        (&json!("PartialObjectMetadata"), &json!("web"))
    );
    assert_eq!(alone.get("data"), None);

    factory.stop_informer(&config_maps()).await;
    let another = factory.informer(&config_maps());
    assert!(!another.is_started() && everywhere.is_ready());
    assert_eq!(factory.collections().len(), 4);
    factory.stop().await;
    world.cluster.stop().await;
}

#[tokio::test]
async fn several_namespaces_share_one_informer() {
    let world = World::start().await;
    let namespaces = [
        world.cluster.namespace().to_owned(),
        world.cluster.fresh_namespace().await.unwrap(),
        world.cluster.fresh_namespace().await.unwrap(),
        world.cluster.fresh_namespace().await.unwrap(),
    ];
    let maps =
        |at: usize| world.client.dynamic(&"v1".parse().unwrap(), "configmaps").namespace(&namespaces[at]);
    let create = async |at: usize, name: &str| {
        let map = DynamicObject::new("v1", "ConfigMap", name);
        maps(at).create(&map, &Default::default()).await.unwrap()
    };
    for at in 0..4 {
        create(at, "before").await;
    }
    let factory = InformerFactory::new(world.client.clone());
    let three = factory.informer(&config_maps().namespaces(&namespaces[..3]));
    let reader = three.reader::<Value>(Keep::Encoded);
    let mut changes = reader.changes(SubscriptionOptions::default());
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();

    let expired =
        world.cluster.faults().add(Fault::on(Verb::Watch).namespace(&namespaces[1]).expire().times(1));
    world.cluster.faults().end_watches(&Requests::any());
    expired.happened(1).await;
    for at in 0..4 {
        create(at, "after").await;
        maps(at).delete("before", &Default::default()).await.unwrap();
    }
    let wanted: BTreeMap<String, Value> = world
        .served()
        .await
        .into_iter()
        .filter(|(key, _)| namespaces[..3].iter().any(|namespace| key.starts_with(namespace.as_str())))
        .collect();
    assert_eq!(wanted.len(), 3);
    let mut seen = BTreeMap::new();
    tokio::time::timeout(PATIENCE, async {
        while seen != wanted || kept(three.store()) != wanted {
            match changes.next().await.unwrap() {
                Notification::Added { new, .. } | Notification::Updated { new, .. } => {
                    let key = format!(
                        "{}/{}",
                        new["metadata"]["namespace"].as_str().unwrap(),
                        new["metadata"]["name"].as_str().unwrap()
                    );
                    seen.insert(key, (*new).clone());
                }
                Notification::Deleted { old: gone, .. } => {
                    let namespace = gone["metadata"]["namespace"].as_str().unwrap();
                    seen.remove(&format!("{namespace}/{}", gone["metadata"]["name"].as_str().unwrap()));
                }
                other => panic!("{other:?}"),
            }
        }
    })
    .await
    .unwrap();
    assert_eq!(reader.namespace(&namespaces[2]).list(&Default::default()).items().unwrap().len(), 1);
    factory.stop().await;
    world.cluster.stop().await;
}

#[tokio::test]
async fn informers_that_are_not_ready_in_time_are_named() {
    let world = World::start().await;
    let factory = InformerFactory::new(world.client.clone());
    factory.informer(&config_maps());
    factory.informer(&Collection::new("example.com", "v1", "widgets", "Widget").namespace("x"));
    factory.start();
    let error = factory.wait_until_ready(Duration::from_secs(2)).await.unwrap_err();
    let expected = "informers not ready after 2s: widgets.v1.example.com in x: list failed: list rejected by the server: \
                    the server could not find the requested resource (get widgets.example.com) (404)";
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.source().unwrap().to_string(), "list failed");
    factory.stop().await;
    world.cluster.stop().await;
}

#[tokio::test]
async fn the_cache_converges_after_every_kind_of_fault() {
    let world = World::start().await;
    for number in 0..40 {
        world.create(&format!("m{number}"), "web").await;
    }
    let factory = InformerFactory::new(world.client.clone());
    let maps = factory.informer(&config_maps());
    let seen = Arc::new(Mutex::new(BTreeMap::<ObjectKey, String>::new()));
    let _handler = Handler::start(maps.subscribe(SubscriptionOptions::default()), {
        let seen = seen.clone();
        move |change| {
            use watchkeeper_cache::delta::Delta;
            let (mut seen, object) = (seen.lock(), change.newest());
            match change {
                Delta::Deleted { .. } => seen.remove(object.metadata.key()),
                _ => {
                    seen.insert(object.metadata.key().clone(), object.metadata.resource_version().to_string())
                }
            };
        }
    });
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    for round in 0..4 {
        let cut = world.cluster.faults().add(Fault::on(Verb::Watch).resource("configmaps").cut().times(1));
        for number in 0..40 {
            world.change(&format!("m{number}"), &json!({"round": round.to_string()})).await;
        }
        world.maps().delete(&format!("m{}", 39 - round), &Default::default()).await.unwrap();
        world.create(&format!("m{}", 39 - round), "db").await;
        drop(cut);
    }
    let last = world.change("m0", &json!({"last": "yes"})).await;
    tokio::time::timeout(PATIENCE, maps.store().wait_for(&last.resource_version().into())).await.unwrap();
    let served = world.served().await;
    assert_eq!(kept(maps.store()), served);
    let received = || -> BTreeMap<String, String> {
        seen.lock().iter().map(|(key, version)| (key.to_string(), version.clone())).collect()
    };
    let versions: BTreeMap<String, String> = served
        .iter()
        .map(|(key, map)| (key.clone(), map["metadata"]["resourceVersion"].as_str().unwrap().to_owned()))
        .collect();
    tokio::time::timeout(PATIENCE, async {
        while received() != versions {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    factory.stop().await;
    world.cluster.stop().await;
}
