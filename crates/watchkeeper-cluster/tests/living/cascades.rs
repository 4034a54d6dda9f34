//! Cascading deletion of deployments and namespaces.

use serde_json::{Value, json};
use watchkeeper_client::dynamic::{DeleteOptions, Propagation};
use watchkeeper_cluster::{Cluster, Timings};

use crate::by_hand::is_ready;
use crate::living::{Living, NAMESPACES, Of, PODS};
use crate::replica_sets::REPLICA_SETS;

const DEPLOYMENTS: Of = Of("apps/v1/deployments", "Deployment");
const SHOP: &str = "shop";
const REPLICAS: usize = 3;

/// Starts a cluster with a deployment `web` whose pods all run.
async fn shop() -> Living {
    let living = Living::with(Cluster::builder().timings(Timings::instant())).await;
    living.namespace(SHOP).await;
    let template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    });
    let spec =
        json!({"replicas": REPLICAS, "selector": {"matchLabels": {"app": "web"}}, "template": template});
    living.create(&DEPLOYMENTS, SHOP, json!({"metadata": {"name": "web"}, "spec": spec})).await;
    living.until_all(&PODS, |all| all.iter().filter(|(_, pod)| is_ready(pod)).count() == REPLICAS).await;
    living
}

async fn delete(living: &Living, propagation: Propagation) {
    let options = DeleteOptions { propagation: Some(propagation), ..Default::default() };
    living.delete(&DEPLOYMENTS, SHOP, "web", &options).await;
    living.until(&DEPLOYMENTS, SHOP, "web", |deployment| deployment.is_none()).await;
}

#[tokio::test]
async fn foreground_deletion_removes_pods_before_their_deployment() {
    let living = shop().await;
    delete(&living, Propagation::Foreground).await;
    for of in [&REPLICA_SETS, &PODS] {
        assert_eq!(living.list(of, SHOP).await, Vec::<Value>::new(), "{}", of.1);
    }
    living.stop().await;
}

#[tokio::test]
async fn background_deletion_removes_pods_after_their_deployment() {
    let living = shop().await;
    delete(&living, Propagation::Background).await;
    living.until_all(&REPLICA_SETS, <[_]>::is_empty).await;
    living.until_all(&PODS, <[_]>::is_empty).await;
    living.stop().await;
}

#[tokio::test]
async fn an_orphaned_replica_set_keeps_its_pods() {
    let living = shop().await;
    delete(&living, Propagation::Orphan).await;
    let sets = living.list(&REPLICA_SETS, SHOP).await;
    assert_eq!((sets.len(), sets[0]["metadata"].get("ownerReferences")), (1, None));
    living.delete(&PODS, SHOP, first_pod(&living).await.as_str(), &DeleteOptions::default()).await;
    living.until_all(&PODS, |all| all.iter().filter(|(_, pod)| is_ready(pod)).count() == REPLICAS).await;
    living.stop().await;
}

async fn first_pod(living: &Living) -> String {
    living.list(&PODS, SHOP).await[0]["metadata"]["name"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_namespace_is_deleted_although_controllers_would_refill_it() {
    let living = shop().await;
    living.delete(&NAMESPACES, "", SHOP, &DeleteOptions::default()).await;
    living.until(&NAMESPACES, "", SHOP, |namespace| namespace.is_none()).await;
    for of in [&DEPLOYMENTS, &REPLICA_SETS, &PODS] {
        assert_eq!(living.list(of, SHOP).await, Vec::<Value>::new(), "{}", of.1);
    }
    living.stop().await;
}
