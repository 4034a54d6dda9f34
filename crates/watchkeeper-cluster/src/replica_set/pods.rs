//! Pods of a replica set: created from its template, and deleted.

use std::sync::Arc;

use serde_json::{Value, json};
use watchkeeper_client::dynamic::{DeleteOptions, DynamicApi, DynamicObject, NotAnObject, WriteOptions};
use watchkeeper_client::rest::RequestError;
use watchkeeper_controller::events::{Event, EventRecorder};
use watchkeeper_core::{CauseType, ErrorChain};

use super::batch::{in_parallel, slow_start};
use crate::resource::REPLICA_SETS;
use crate::view::{Meta, Pod, ReplicaSet};

/// Why the number of pods is not the desired one.
#[derive(Debug, thiserror::Error)]
pub(super) enum PodsError {
    #[error(transparent)]
    Create(RequestError),
    /// The namespace is being deleted: nothing can be created in it.
    #[error(transparent)]
    Terminating(RequestError),
    #[error("unable to delete pods")]
    Delete(#[source] RequestError),
    #[error("unable to create pods, no labels")]
    NoLabels,
    #[error("pod template is not an object")]
    Template(#[from] NotAnObject),
}

/// Creates and deletes pods of one replica set.
pub(super) struct Pods {
    pub(super) set: Arc<ReplicaSet>,
    /// API of pods, in the namespace of the set.
    pub(super) api: DynamicApi,
    pub(super) recorder: EventRecorder,
}

impl Pods {
    /// Creates `count` pods, with a slow start.
    pub(super) async fn create(&self, count: usize) -> Result<(), PodsError> {
        let pod = DynamicObject::try_from(pod_for(&self.set))?;
        if pod.labels().next().is_none() {
            return Err(PodsError::NoLabels);
        }
        slow_start(count, || self.create_one(&pod)).await
    }

    async fn create_one(&self, pod: &DynamicObject) -> Result<(), PodsError> {
        match self.api.create(pod, &WriteOptions::default()).await {
            Ok(pod) => {
                self.record(Event::normal("SuccessfulCreate", format!("Created pod: {}", pod.name())));
                Ok(())
            }
            Err(error) if is_terminating(&error) => Err(PodsError::Terminating(error)),
            Err(error) => {
                self.record(Event::warning(
                    "FailedCreate",
                    format!("Error creating: {}", ErrorChain(&error)),
                ));
                Err(PodsError::Create(error))
            }
        }
    }

    fn record(&self, event: Event) {
        self.recorder.record(&self.set.metadata.reference(REPLICA_SETS), event);
    }

    /// Deletes these pods.
    pub(super) async fn delete(&self, pods: &[Arc<Pod>]) -> Result<(), PodsError> {
        in_parallel(pods.iter().map(|pod| self.delete_one(pod))).await
    }

    async fn delete_one(&self, pod: &Pod) -> Result<(), PodsError> {
        let Meta { name, uid, .. } = &pod.metadata;
        let options = DeleteOptions { uid: Some(uid.clone()), ..Default::default() };
        match self.api.delete(name, &options).await {
            Ok(_) => {
                self.record(Event::normal("SuccessfulDelete", format!("Deleted pod: {name}")));
                Ok(())
            }
            // Another client was faster.
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
            Err(error) => {
                self.record(Event::warning(
                    "FailedDelete",
                    format!("Error deleting: {}", ErrorChain(&error)),
                ));
                Err(PodsError::Delete(error))
            }
        }
    }
}

fn is_terminating(error: &RequestError) -> bool {
    error.status().is_some_and(|status| status.cause(&CauseType::from("NamespaceTerminating")).is_some())
}

/// Returns a pod made from the template, of whose metadata only labels, annotations and finalizers are
/// copied.
fn pod_for(set: &ReplicaSet) -> Value {
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
    fn a_pod_copies_labels_annotations_and_finalizers_of_the_template() {
        let set = json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": "u", "labels": {"not": "this"}},
            "spec": {"template": {
                "metadata": {"name": "not-this", "creationTimestamp": null, "labels": {"app": "web"},
                             "annotations": {"a": "b"}, "finalizers": ["x/y"]},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            }},
        });
        let pod = pod_for(&serde_json::from_value(set).unwrap());
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
