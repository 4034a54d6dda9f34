//! Typed objects against the embedded server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_core::Collection;
use watchkeeper_kinds::api::core::v1::ConfigMap;
use watchkeeper_kinds::{Api, CollectionExt as _, k8s_openapi};
use watchkeeper_testkit::TestCluster;

fn client_of(cluster: &TestCluster) -> Client {
    let sources = Sources::File(cluster.kubeconfig_path().to_owned());
    Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap()
}

#[tokio::test]
async fn typed_objects_round_trip() {
    let cluster = TestCluster::start().await.unwrap();
    let client = client_of(&cluster);
    let maps = Api::<ConfigMap>::default_namespaced(&client);

    let map = ConfigMap::new("a", "").with_data([("k", "v")]);
    let created = maps.create(&map, &Default::default()).await.unwrap();
    assert_eq!(created.metadata.namespace, cluster.namespace());
    assert_eq!(maps.get("a").await.unwrap(), created);
    assert_eq!(maps.list(&Default::default()).await.unwrap().items, std::slice::from_ref(&created));
    let alone = maps.metadata_only().get("a").await.unwrap();
    assert_eq!(alone.metadata, created.metadata);
    cluster.stop().await;
}

#[tokio::test]
async fn objects_of_k8s_openapi_round_trip() {
    type Theirs = k8s_openapi::api::core::v1::ConfigMap;
    assert_eq!(Collection::of::<Theirs>(), Collection::of::<ConfigMap>());
    let cluster = TestCluster::start().await.unwrap();
    let client = client_of(&cluster);
    let maps = Api::<Theirs>::default_namespaced(&client);

    let mut map = Theirs::default();
    map.metadata.name = Some("a".to_owned());
    map.data = Some(BTreeMap::from([("k".to_owned(), "v".to_owned())]));
    let created = maps.create(&map, &Default::default()).await.unwrap();
    assert_eq!(created.metadata.namespace.as_deref(), Some(cluster.namespace()));
    assert_eq!(maps.get("a").await.unwrap(), created);
    assert_eq!(maps.list(&Default::default()).await.unwrap().items, std::slice::from_ref(&created));
    let alone = maps.metadata_only().get("a").await.unwrap();
    assert_eq!(alone.metadata.name, "a");
    let ours = Api::<ConfigMap>::default_namespaced(&client).get("a").await.unwrap();
    assert_eq!(ConfigMap::try_from(created).unwrap(), ours);
    cluster.stop().await;
}
