//! Collector: deletes deployments whose website is gone, as a garbage collector does.

use kube_core::ResourceExt as _;
use operator_example::Website;
use watchkeeper_cache::handler::SubscriptionOptions;
use watchkeeper_client::resource::DeleteOptions;
use watchkeeper_kinds::api::apps::v1::Deployment;
use watchkeeper_kinds::{Api, Client, Object as _, TypedFactory};

/// Runs until aborted.
pub(crate) async fn run(client: Client, factory: TypedFactory) {
    let mut websites = factory.of::<Website>().subscribe(SubscriptionOptions::default());
    let mut deployments = factory.apps_v1().deployments().subscribe(SubscriptionOptions::default());
    let (owners, all) = (factory.of::<Website>().lister(), factory.apps_v1().deployments().lister());
    factory.start();
    loop {
        tokio::select! {
            _ = websites.next() => {}
            _ = deployments.next() => {}
        }
        for deployment in all.list(&Default::default()).items().unwrap() {
            let owner = owners.namespace(deployment.namespace());
            let owner = owner.get(deployment.name()).unwrap().and_then(|website| website.uid());
            if deployment.metadata.owner_references.iter().any(|it| Some(&*it.uid) != owner.as_deref()) {
                collect(&client, &deployment).await;
            }
        }
    }
}

async fn collect(client: &Client, deployment: &Deployment) {
    let (metadata, namespace) = (&deployment.metadata, deployment.namespace());
    for owner in &metadata.owner_references {
        // The cache may be stale: only the server knows whether an owner is gone.
        let there = Api::<Website>::namespaced(client, namespace).get_opt(&owner.name).await.unwrap();
        if there.and_then(|website| website.uid()).as_deref() != Some(&*owner.uid) {
            let options = DeleteOptions {
                uid: Some(metadata.uid.to_string()),
                resource_version: Some(metadata.resource_version.to_string()),
                ..Default::default()
            };
            let deployments = Api::<Deployment>::namespaced(client, namespace);
            // On a conflict it is checked again when its change is observed.
            let _ = deployments.delete(deployment.name(), &options).await;
        }
    }
}
