//! Status of a website.

use watchkeeper_kinds::api::apps::v1::Deployment;
use watchkeeper_kinds::k8s_openapi::jiff::Timestamp;

use crate::deployment::readiness;
use crate::website::{Condition, Phase, Website, WebsiteStatus};

/// Returns the status of a website by that of its deployment. It equals the previous one if nothing has changed.
pub fn status(website: &Website, deployment: Option<&Deployment>) -> WebsiteStatus {
    let wanted = website.spec.replicas;
    let (ready_replicas, is_ready) = deployment.map_or((0, false), |it| readiness(it, wanted));
    let (phase, status) = if is_ready { (Phase::Ready, "True") } else { (Phase::Progressing, "False") };
    let before = website.status.as_ref().and_then(|status| status.conditions.first());
    let since = before.filter(|before| before.status == status).map(|it| it.last_transition_time.clone());
    let condition = Condition {
        type_: "Ready".to_owned(),
        status: status.to_owned(),
        reason: format!("{phase:?}"),
        message: format!("{ready_replicas} of {wanted} replicas are ready"),
        last_transition_time: since.unwrap_or_else(|| format!("{:.0}", Timestamp::now())),
    };
    WebsiteStatus {
        observed_generation: website.metadata.generation.unwrap_or_default(),
        ready_replicas,
        phase,
        conditions: vec![condition],
    }
}
