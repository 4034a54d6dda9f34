//! Pods of a replica set: made after its template, and deleted.

use std::sync::Arc;

use serde_json::{Value, json};
use watchkeeper_cache::Store;
use watchkeeper_client::dynamic::{
    DeleteOptions, Deleted, DynamicApi, DynamicObject, NotAnObject, WriteOptions,
};
use watchkeeper_client::rest::RequestError;
use watchkeeper_controller::Request;
use watchkeeper_core::CauseType;

use super::batch::{at_once, slow_start};
use crate::resource::REPLICA_SETS;
use crate::telling::Telling;
use crate::view::{Meta, Pod, ReplicaSet};

/// Why there are not as many pods as are wanted.
#[derive(Debug, thiserror::Error)]
pub(super) enum PodsError {
    #[error("{0}")]
    Create(RequestError),
    /// The namespace is going: nothing can be created there any more.
    #[error("{0}")]
    Terminating(RequestError),
    #[error("unable to delete pods: {0}")]
    Delete(RequestError),
    #[error("unable to create pods, no labels")]
    NoLabels,
    #[error("the template of the pods is no object")]
    Template(#[from] NotAnObject),
}

/// What it takes to write pods of one replica set.
#[derive(Clone)]
pub(super) struct Pods {
    pub(super) set: Arc<ReplicaSet>,
    /// In the namespace of the set.
    pub(super) api: DynamicApi,
    /// Where they will be seen.
    pub(super) store: Store,
    pub(super) request: Request,
    pub(super) telling: Telling,
}

impl Pods {
    /// Creates so many, a few at first.
    pub(super) async fn create(&self, count: usize) -> Result<(), PodsError> {
        let pod = Arc::new(DynamicObject::try_from(made_from(&self.set))?);
        if pod.labels().next().is_none() {
            return Err(PodsError::NoLabels);
        }
        slow_start(count, || self.clone().create_one(pod.clone())).await
    }

    async fn create_one(self, pod: Arc<DynamicObject>) -> Result<(), PodsError> {
        let about = &self.set.metadata;
        match self.api.create(&pod, &WriteOptions::default()).await {
            Ok(pod) => {
                self.request.wrote(&self.store, pod.resource_version());
                self.telling.normal(about, "SuccessfulCreate", format!("Created pod: {}", pod.name()));
                Ok(())
            }
            Err(error) if is_terminating(&error) => Err(PodsError::Terminating(error)),
            Err(error) => {
                self.telling.warning(about, "FailedCreate", format!("Error creating: {error}"));
                Err(PodsError::Create(error))
            }
        }
    }

    /// Deletes these.
    pub(super) async fn delete(&self, pods: &[Arc<Pod>]) -> Result<(), PodsError> {
        at_once(pods.iter().map(|pod| self.clone().delete_one(pod.clone()))).await
    }

    async fn delete_one(self, pod: Arc<Pod>) -> Result<(), PodsError> {
        let (about, Meta { name, uid, .. }) = (&self.set.metadata, &pod.metadata);
        let options = DeleteOptions { uid: Some(uid.clone()), ..Default::default() };
        match self.api.delete(name, &options).await {
            Ok(deleted) => {
                if let Deleted::Pending(pod) = deleted {
                    self.request.wrote(&self.store, pod.resource_version());
                }
                self.telling.normal(about, "SuccessfulDelete", format!("Deleted pod: {name}"));
                Ok(())
            }
            // Somebody else was quicker.
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
            Err(error) => {
                self.telling.warning(about, "FailedDelete", format!("Error deleting: {error}"));
                Err(PodsError::Delete(error))
            }
        }
    }
}

fn is_terminating(error: &RequestError) -> bool {
    error.status().is_some_and(|status| status.cause(&CauseType::from("NamespaceTerminating")).is_some())
}

/// A pod after the template: of its metadata only what pods take over.
fn made_from(set: &ReplicaSet) -> Value {
    let template = &set.spec.template;
    let mut metadata = json!({
        "generateName": format!("{}-", set.metadata.name),
        "ownerReferences": [set.metadata.as_controller(REPLICA_SETS)],
    });
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template["metadata"].get(field).filter(|value| !value.is_null()) {
            metadata[field] = value.clone();
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_takes_over_what_the_template_says_and_no_more() {
        let set = json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": "u", "labels": {"not": "this"}},
            "spec": {"template": {
                "metadata": {"name": "not-this", "creationTimestamp": null, "labels": {"app": "web"},
                             "annotations": {"a": "b"}, "finalizers": ["x/y"]},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            }},
        });
        let pod = made_from(&serde_json::from_value(set).unwrap());
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u",
                           "controller": true, "blockOwnerDeletion": true});
        let expected = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"generateName": "web-", "labels": {"app": "web"}, "annotations": {"a": "b"},
                         "finalizers": ["x/y"], "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        });
        assert_eq!(pod, expected);
    }
}
