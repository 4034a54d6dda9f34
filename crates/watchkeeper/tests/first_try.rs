//! Programs that people write first, each in the form that they try first.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use watchkeeper::client::rest::RateLimiter;
use watchkeeper::controller::Error;
use watchkeeper::kinds::api::core::v1::{ConfigMap, Pod};
use watchkeeper::prelude::*;
use watchkeeper::testkit::TestCluster;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A function of a program, with a boxed error as in most examples.
fn replicas(map: &ConfigMap) -> Outcome<u32> {
    Ok(map.data.get("replicas").ok_or("no replicas")?.parse()?)
}

/// Compiles only if `?` converts boxed errors, errors of requests, and errors of the standard library.
async fn reconcile(map: Arc<ConfigMap>, client: Arc<ClientSet>) -> Result<Action, Error> {
    let wanted = replicas(&map)?;
    client.core_v1().config_maps("default").list(&ListOptions::default()).await?;
    u8::try_from(wanted)?;
    Ok(Action::await_change())
}

#[tokio::test]
async fn a_list_is_iterated_and_has_its_metadata() -> Outcome {
    let cluster = TestCluster::start().await?;
    let config = Config::from_file(cluster.kubeconfig_path())?;
    let client = ClientSet::new(Client::new(&config)?);
    let maps = client.core_v1().config_maps("default");
    let map = ConfigMap::new("first", "default").with_data([("replicas", "300")]);
    let map = maps.create(&map, &WriteOptions::default()).await?;

    let list = maps.list(&ListOptions::default()).await?;
    assert_ne!(list.metadata.resource_version, ResourceVersion::default());
    let (mut borrowed, mut owned) = (Vec::new(), Vec::new());
    for map in &list {
        borrowed.push(map.name().to_owned());
    }
    for map in list {
        owned.push(map.name().to_owned());
    }
    assert!(owned.contains(&"first".to_owned()) && owned == borrowed, "{owned:?} {borrowed:?}");

    let error = reconcile(Arc::new(map), Arc::new(client)).await.unwrap_err();
    assert_eq!(error.to_string(), "out of range integral type conversion attempted");
    let error = reconcile(Arc::default(), Arc::new(ClientSet::new(Client::new(&config)?))).await.unwrap_err();
    assert_eq!(error.to_string(), "no replicas");
    cluster.stop().await;
    Ok(())
}

#[tokio::test]
async fn closures_need_no_types_and_cached_objects_serialize() -> Outcome {
    let cluster = TestCluster::start().await?;
    let client = Client::new(&Config::from_file(cluster.kubeconfig_path())?)?;
    let root = ConfigMap::new("root", "default").with_data([("ca.crt", "")]);
    Api::<ConfigMap>::namespaced(&client, "default").create(&root, &WriteOptions::default()).await?;

    let factory = TypedFactory::new(&client);
    let maps = factory.core_v1().config_maps();
    maps.add_index("key", |map| map.data.keys().map(ToString::to_string).collect())?;
    maps.handle(SubscriptionOptions::default(), drop);
    let lister = maps.lister();
    factory.start();
    factory.wait_until_ready(Duration::from_secs(30)).await?;

    let roots: Vec<Arc<ConfigMap>> = lister.by_index("key", "ca.crt")?.items()?;
    let by_namespace = lister.by_index("namespace", "default")?.items()?;
    assert!(serde_json::to_string(&roots)?.contains(r#""name":"root""#));
    assert!(!by_namespace.is_empty() && by_namespace.iter().all(|map| map.namespace() == "default"));
    for map in lister.list(&LabelSelector::everything()).items()? {
        let key = ObjectKey::namespaced(map.namespace(), map.name());
        assert_eq!(lister.get(&key)?, Some(map));
    }
    let pods: Vec<Arc<Pod>> = vec![Arc::default()];
    let json = r#"[{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":null},"status":{}}]"#; // as Go
    assert_eq!(serde_json::to_string(&pods)?, json);
    factory.stop().await;
    cluster.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_rate_limit_can_be_set_on_a_client_set_and_an_api() -> Outcome {
    const SOON: Duration = Duration::from_millis(300);
    let cluster = TestCluster::start().await?;
    let client = Client::new(&Config::from_file(cluster.kubeconfig_path())?)?;
    let once = || Arc::new(RateLimiter::new(0.001, 1));

    let limited = ClientSet::new(client.clone()).rate_limiter(once());
    limited.core_v1().pods("").list(&ListOptions::default()).await?;
    assert!(timeout(SOON, limited.core_v1().nodes().list(&ListOptions::default())).await.is_err());

    let pods = Api::<Pod>::all(&client).rate_limiter(once());
    pods.list(&ListOptions::default()).await?;
    assert!(timeout(SOON, pods.list(&ListOptions::default())).await.is_err());

    cluster.stop().await;
    Ok(())
}
