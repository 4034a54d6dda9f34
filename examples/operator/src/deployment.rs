//! The deployment that runs a website.

use kube_core::{Resource as _, ResourceExt as _};
use serde_json::json;
use watchkeeper_kinds::api::apps::v1::Deployment;
use watchkeeper_kinds::apply::apps::v1::DeploymentApply;

use crate::Website;

/// Returns the fields of a website's deployment that this operator manages. All others are left to other managers.
///
/// # Errors
/// Never for a website that came from a server.
pub fn deployment(website: &Website) -> Result<DeploymentApply, serde_json::Error> {
    let (name, namespace) = (website.name_any(), website.namespace());
    let labels = json!({"watchkeeper.example/website": name});
    let spec = &website.spec;
    serde_json::from_value(json!({
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "ownerReferences": [website.controller_owner_ref(&())],
        },
        "spec": {
            "replicas": spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{
                    "name": "website",
                    "image": spec.image,
                    "env": [{"name": "MESSAGE", "value": spec.message}],
                }]},
            },
        },
    }))
}

/// Returns the number of ready replicas, and whether the rollout is complete.
pub(crate) fn readiness(deployment: &Deployment, wanted: i32) -> (i32, bool) {
    let status = &deployment.status;
    let is_observed = status.observed_generation == deployment.metadata.generation;
    let counts = [status.replicas, status.updated_replicas, status.ready_replicas];
    (status.ready_replicas, is_observed && counts.iter().all(|count| *count == wanted))
}

/// Returns reason and message of the event for a write to a deployment.
pub fn difference(before: Option<&Deployment>, now: &Deployment) -> (&'static str, String) {
    let replicas = |it: &Deployment| it.spec.replicas.unwrap_or_default();
    let (name, wanted) = (&now.metadata.name, replicas(now));
    match before.map(replicas) {
        None => ("Created", format!("created deployment {name} with {wanted} replicas")),
        Some(had) if had != wanted => {
            ("Scaled", format!("scaled deployment {name} from {had} to {wanted} replicas"))
        }
        Some(_) => ("Updated", format!("updated deployment {name}")),
    }
}

/// Returns whether a deployment is controlled by a website of this name, perhaps an earlier one.
pub fn is_of(deployment: &Deployment, website: &Website) -> bool {
    let name = website.name_any();
    let mut owners = deployment.metadata.owner_references.iter();
    owners.any(|it| it.controller == Some(true) && it.kind == *Website::kind(&()) && it.name == name)
}
