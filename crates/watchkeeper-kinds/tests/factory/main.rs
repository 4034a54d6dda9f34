//! The typed factory: its methods, and its informers against the embedded server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod methods;
mod own;

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::mpsc;
use watchkeeper_cache::handler::SubscriptionOptions;
use watchkeeper_cache::{InformerFactory, Keep, Notification};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_core::{Collection, GroupVersionResource, ListWatch, ResourceVersion};
use watchkeeper_kinds::api::core::v1::ConfigMap;
use watchkeeper_kinds::{ClientSet, Object as _, TypedFactory};
use watchkeeper_testkit::script::Script;
use watchkeeper_testkit::{Fault, TestCluster, Verb};

use methods::every_informer;
use own::Settings;

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

    async fn create(&self, namespace: &str, name: &str, owner: &str) -> ResourceVersion {
        let mut map = ConfigMap::new(name, "").with_data([("owner", owner)]);
        map.metadata.labels.insert("app", "web");
        let maps = ClientSet::from(&self.client).core_v1().config_maps(namespace);
        let created = maps.create(&map, &Default::default()).await.unwrap();
        created.metadata.resource_version.as_str().into()
    }
}

/// Every method and every table row refers to the resource in the tables.
#[test]
fn every_method_has_the_resource_in_the_tables() {
    let mut count = 0;
    let factory = TypedFactory::from(InformerFactory::new(nothing));
    let generic = TypedFactory::from(InformerFactory::new(|_: &Collection| {
        Box::new(Script::new()) as Box<dyn ListWatch>
    }));
    macro_rules! check {
        ($(($accessor:ident, $method:ident, $group:expr, $version:expr, $plural:expr, $kind:expr, $scope:ident, $_embedded:expr),)*) => {$(
            let made = factory.$accessor().$method();
            let at = GroupVersionResource {
                group: $group.to_owned(),
                version: $version.to_owned(),
                resource: $plural.to_owned(),
            };
            assert_eq!(made.collection(), generic.for_resource(&at).unwrap().collection(), "{at}");
            assert_eq!(made.collection().resource(), $plural);
            let kind = made.collection().kind();
            assert_eq!((&*kind.group, &*kind.version, &*kind.kind), ($group, $version, $kind));
            assert_eq!(made.collection().is_cluster_scoped(), stringify!($scope) == "cluster", "{at}");
            count += 1;
            assert_eq!(generic.collections().len(), count, "for_resource makes the informer, as in client-go");
        )*};
    }
    every_informer!(check);
    assert!(count > 80, "{count}");
    let reviews = GroupVersionResource {
        group: "authentication.k8s.io".to_owned(),
        version: "v1".to_owned(),
        resource: "tokenreviews".to_owned(),
    };
    assert!(factory.for_resource(&reviews).is_err(), "they cannot be watched");
    assert!(factory.collections().is_empty(), "to name is not to ask");
}

fn nothing(_: &Collection) -> Box<dyn ListWatch> {
    unreachable!("nothing is asked for")
}

#[tokio::test]
async fn one_watch_serves_all_types_and_untyped_informers() {
    let world = World::start().await;
    let here = world.cluster.namespace().to_owned();
    let watches =
        world.cluster.faults().add(Fault::on(Verb::Watch).resource("configmaps").delay(Duration::ZERO));
    world.create(&here, "a", "ann").await;
    let factory = TypedFactory::new(&world.client);
    let maps = factory.core_v1().config_maps();
    let owner = |map: &ConfigMap| map.data.get("owner").map(ToString::to_string).into_iter().collect();
    maps.add_index("owner", owner).unwrap();
    assert_eq!(maps.add_index("owner", owner).unwrap_err().name, "owner");
    let (lister, settings) = (maps.lister(), factory.of::<Settings>());
    let found = GroupVersionResource {
        group: String::new(),
        version: "v1".to_owned(),
        resource: "configmaps".to_owned(),
    };
    let trees = factory.for_resource(&found).unwrap();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let mut handler = maps.handle(SubscriptionOptions::default(), move |change| {
        if let Notification::Added { new, initial } = change {
            let _ = sender.send((new.name().to_owned(), initial));
        }
    });
    let mut changes = settings.changes(SubscriptionOptions::default());
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    assert!(handler.caught_up().await);

    let b = world.create(&here, "b", "bob").await;
    tokio::time::timeout(PATIENCE, maps.informer().store().wait_for(&b)).await.unwrap();
    assert_eq!(lister.namespace(&here).get("b").unwrap().unwrap().name(), "b");
    assert_eq!(lister.namespace(&here).get("c").unwrap(), None);
    assert_eq!(lister.list(&"app=web".parse().unwrap()).items().unwrap().len(), 2);
    assert_eq!(lister.by_index("owner", "ann").unwrap().items().unwrap()[0].name(), "a");
    assert_eq!(settings.lister().namespace(&here).get("a").unwrap().unwrap().owner(), "ann");
    assert_eq!(trees.lister().namespace(&here).get("a").unwrap().unwrap().kind(), "ConfigMap");
    let mut added = Vec::new();
    while added.last() != Some(&"b".to_owned()) {
        let Some(Notification::Added { new, .. }) = changes.next().await else {
            panic!("expected an addition")
        };
        added.push(new.name().to_owned());
    }
    let mut received = BTreeMap::new();
    while !received.contains_key("b") {
        received.extend(receiver.recv().await);
    }
    assert_eq!((received["a"], received["b"]), (true, false));
    assert_eq!((factory.collections().len(), watches.hits()), (1, 1));

    let kept = maps.clone().keep(Keep::Decoded).lister();
    let twice =
        [kept.namespace(&here).get("a"), kept.namespace(&here).get("a")].map(|it| it.unwrap().unwrap());
    assert!(std::sync::Arc::ptr_eq(&twice[0], &twice[1]));
    factory.stop().await;
    handler.finished().await;
    world.cluster.stop().await;
}

#[tokio::test]
async fn usage_patterns_of_client_go_work() {
    let world = World::start().await;
    let here = world.cluster.namespace().to_owned();
    world.create(&here, "a", "ann").await;
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let lister = {
        let factory = TypedFactory::new(&world.client); // a local variable
        let at = GroupVersionResource {
            group: String::new(),
            version: "v1".to_owned(),
            resource: "configmaps".to_owned(),
        };
        let maps = factory.for_resource(&at).unwrap();
        factory.core_v1().config_maps().handle(SubscriptionOptions::default(), move |change| {
            if let Notification::Added { new, .. } = change {
                let _ = sender.send(new.name().to_owned());
            }
        });
        factory.start();
        factory.wait_until_ready(PATIENCE).await.unwrap();
        let lister = maps.lister();
        assert!(!lister.namespace(&here).list(&Default::default()).items().unwrap().is_empty());
        lister
    };
    let version = world.create(&here, "b", "bob").await;
    tokio::time::timeout(PATIENCE, lister.store().wait_for(&version)).await.unwrap();
    assert!(lister.namespace(&here).get("b").unwrap().is_some());
    let error = lister.get("b").unwrap_err().to_string();
    assert!(error.starts_with("ConfigMap \"b\" requires a namespace"), "{error}");
    let mut names = Vec::new();
    while names.last().map(String::as_str) != Some("b") {
        names.push(tokio::time::timeout(PATIENCE, receiver.recv()).await.unwrap().unwrap());
    }
    assert!(names.contains(&"a".to_owned()));
    world.cluster.stop().await;
}

#[tokio::test]
async fn narrowed_informers_are_separate_and_defaults_apply_to_namespaced_resources() {
    let world = World::start().await;
    let (here, there) =
        (world.cluster.namespace().to_owned(), world.cluster.fresh_namespace().await.unwrap());
    for (namespace, name) in [(&here, "a"), (&there, "b")] {
        world.create(namespace, name, "ann").await;
    }
    world.create("default", "c", "ann").await;
    let untyped = InformerFactory::builder(world.client.clone()).namespaces([&here, &there]).build();
    let factory = TypedFactory::from(untyped.clone());
    let maps = factory.core_v1().config_maps();
    let both = maps.lister();
    let one = maps.clone().namespace("default").fields(&"metadata.name=c".parse().unwrap()).lister();
    let heads = maps.clone().namespace(&there).labels(&"app=web".parse().unwrap()).metadata_only().lister();
    let owners = maps.view::<Settings>().lister();
    let namespaces = factory.core_v1().namespaces().lister();
    assert_eq!(untyped.collections().len(), 4);
    untyped.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    let everything = Default::default();
    let names: Vec<String> =
        both.list(&everything).items().unwrap().iter().map(|map| map.name().to_owned()).collect();
    assert_eq!(names.len(), 2);
    assert!(names.contains(&"a".to_owned()) && names.contains(&"b".to_owned()));
    assert_eq!(
        one.list(&everything).items().unwrap().iter().map(|map| map.name()).collect::<Vec<_>>(),
        ["c"]
    );
    assert_eq!(heads.namespace(&there).get("b").unwrap().unwrap().metadata.name, "b");
    assert_eq!(
        owners.list(&everything).items().unwrap().iter().map(|map| map.owner()).collect::<Vec<_>>(),
        ["ann"; 2]
    );
    assert!(namespaces.get("default").unwrap().is_some(), "they are in no namespace");
    factory.stop().await;
    world.cluster.stop().await;
}
