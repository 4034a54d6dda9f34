//! Typed objects against the embedded server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_kinds::Api;
use watchkeeper_kinds::k8s_openapi::api::core::v1::ConfigMap;
use watchkeeper_testkit::TestCluster;

#[tokio::test]
async fn typed_objects_round_trip() {
    let cluster = TestCluster::start().await.unwrap();
    let config =
        Config::load(&Sources::File(cluster.kubeconfig_path().to_owned()), &Overrides::default()).unwrap();
    let client = Client::new(&config).unwrap();
    let maps = Api::<ConfigMap>::default_namespaced(&client);

    let mut map = ConfigMap::default();
    map.metadata.name = Some("a".to_owned());
    map.data = Some(BTreeMap::from([("k".to_owned(), "v".to_owned())]));
    let created = maps.create(&map, &Default::default()).await.unwrap();
    assert_eq!(created.metadata.namespace.as_deref(), Some(cluster.namespace()));
    assert_eq!(maps.get("a").await.unwrap(), created);
    assert_eq!(maps.list(&Default::default()).await.unwrap().items, std::slice::from_ref(&created));
    let alone = maps.metadata_only().get("a").await.unwrap();
    assert_eq!(alone.metadata, created.metadata);
    cluster.stop().await;
}
