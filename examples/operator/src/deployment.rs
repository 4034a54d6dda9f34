//! Deployment: what runs a website.

use kube_core::{Resource as _, ResourceExt as _};
use serde_json::json;
use watchkeeper_controller::events::Event;
use watchkeeper_kinds::apply::apps::v1::DeploymentApply;
use watchkeeper_kinds::k8s_openapi::api::apps::v1::Deployment;

use crate::Website;

/// The deployment that a website is to have. What is not said here is left to others.
///
/// # Errors
/// None of a website that a server gave.
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

/// How many copies answer, and whether these are all that are wanted, in their newest form.
pub(crate) fn readiness(deployment: &Deployment, wanted: i32) -> (i32, bool) {
    let Some(status) = &deployment.status else { return (0, false) };
    let ready = status.ready_replicas.unwrap_or_default();
    let is_newest = status.observed_generation == deployment.metadata.generation;
    let counts = [status.replicas, status.updated_replicas, status.ready_replicas];
    (ready, is_newest && counts.iter().all(|count| count.unwrap_or_default() == wanted))
}

/// What was done to a deployment, in words.
pub(crate) fn difference(before: Option<&Deployment>, now: &Deployment) -> Event {
    let replicas = |it: &Deployment| it.spec.replicas.unwrap_or_default();
    let (name, wanted) = (now.name_any(), replicas(now));
    match before.map(replicas) {
        None => Event::normal("Created", format!("created deployment {name} with {wanted} copies")),
        Some(had) if had != wanted => {
            Event::normal("Scaled", format!("scaled deployment {name} from {had} to {wanted} copies"))
        }
        Some(_) => Event::normal("Updated", format!("updated deployment {name}")),
    }
}

/// Whether a deployment is this website's, be it that of one that had its name before.
pub(crate) fn is_of(deployment: &Deployment, website: &Website) -> bool {
    let name = website.name_any();
    let mut owners = deployment.owner_references().iter();
    owners.any(|it| it.controller == Some(true) && it.kind == Website::kind(&()) && it.name == name)
}
