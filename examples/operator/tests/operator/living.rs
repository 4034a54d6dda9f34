//! The life of one website in a cluster that runs deployments.

use operator_example::Website;
use operator_example::registry::{self, REGISTRY};
use operator_example::website::Phase;
use serde_json::json;
use watchkeeper_cache::reader::ListUndecodable;
use watchkeeper_cache::wait::until;
use watchkeeper_client::rest::PatchKind;
use watchkeeper_cluster::{Cluster, Timings};
use watchkeeper_core::ObjectKey;
use watchkeeper_kinds::api::apps::v1::Deployment;
use watchkeeper_kinds::api::core::v1::ConfigMap;
use watchkeeper_kinds::api::events::v1::Event;
use watchkeeper_kinds::{Api, TypedFactory, TypedInformer};

use crate::{Operator, TIMEOUT, create_website, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_website_is_created_scaled_and_deleted() {
    let (cluster, client) = start().await;
    let nodes = Cluster::builder().nodes(1).timings(Timings::instant());
    let living = nodes.start(cluster.server()).await.unwrap();
    let operator = Operator::start(&client).await;

    let factory = TypedFactory::new(&client); // of the test itself
    let websites = factory.of::<Website>();
    let api = Api::<Website>::default_namespaced(&client);
    create_website(&client).await;
    comes(&websites, |all| all.iter().any(|it| is_ready(it, 2))).await;

    let more = json!({"spec": {"replicas": 3, "message": "Good morning"}});
    api.patch("hello", PatchKind::Merge, &more, &Default::default()).await.unwrap();
    comes(&websites, |all| all.iter().any(|it| is_ready(it, 3))).await;
    let registered = registry::name_of(&ObjectKey::namespaced(cluster.namespace(), "hello"));
    let registrations = Api::<ConfigMap>::namespaced(&client, REGISTRY);
    let registration = registrations.get(&registered).await.unwrap();
    assert_eq!(registration.data["message"], "Good morning");

    api.delete("hello", &Default::default()).await.unwrap();
    comes(&websites, <[_]>::is_empty).await;
    assert!(registrations.get_opt(&registered).await.unwrap().is_none()); // deleted before the finalizer was removed
    comes(&factory.of::<Deployment>(), <[_]>::is_empty).await; // by the garbage collector
    let has = |all: &[Event], reason: &str| all.iter().any(|it| it.reason == reason);
    comes(&factory.of::<Event>(), |all| has(all, "Created") && has(all, "Scaled")).await;

    operator.stop().await;
    factory.stop().await;
    living.stop().await;
    cluster.stop().await;
}

/// Waits for a condition on all objects.
async fn comes<K>(objects: &TypedInformer<K>, is_so: impl Fn(&[K]) -> bool)
where
    K: Clone + serde::de::DeserializeOwned,
{
    let (informer, lister) = (objects.informer(), objects.lister());
    until(&informer, Some(TIMEOUT), |_| {
        let all = lister.list(&Default::default()).items()?;
        let all: Vec<K> = all.iter().map(|object| K::clone(object)).collect();
        Ok::<_, ListUndecodable>(is_so(&all).then_some(()))
    })
    .await
    .unwrap();
}

/// Returns whether this many replicas are ready, according to a status of the newest generation.
fn is_ready(website: &Website, replicas: i32) -> bool {
    let Some(status) = &website.status else { return false };
    let is_current = Some(status.observed_generation) == website.metadata.generation;
    is_current && status.phase == Phase::Ready && status.ready_replicas == replicas
}
