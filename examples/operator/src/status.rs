//! Status: what is said of a website.

use watchkeeper_kinds::k8s_openapi::api::apps::v1::Deployment;
use watchkeeper_kinds::k8s_openapi::jiff::Timestamp;

use crate::deployment::readiness;
use crate::website::{Condition, Phase, Website, WebsiteStatus};

/// What there is of a website, by its deployment. What has not changed is said as before, so that it need not be
/// written again.
pub(crate) fn status(website: &Website, deployment: Option<&Deployment>) -> WebsiteStatus {
    let wanted = website.spec.replicas;
    let (ready_replicas, is_ready) = deployment.map_or((0, false), |it| readiness(it, wanted));
    let (phase, status) = match is_ready {
        true => (Phase::Ready, "True"),
        false => (Phase::Progressing, "False"),
    };
    let before = website.status.as_ref().and_then(|status| status.conditions.first());
    let since = before.filter(|before| before.status == status).map(|it| it.last_transition_time.clone());
    let condition = Condition {
        type_: "Ready".to_owned(),
        status: status.to_owned(),
        reason: format!("{phase:?}"),
        message: format!("{ready_replicas} of {wanted} copies answer"),
        last_transition_time: since.unwrap_or_else(|| format!("{:.0}", Timestamp::now())),
    };
    WebsiteStatus {
        observed_generation: website.metadata.generation.unwrap_or_default(),
        ready_replicas,
        phase,
        conditions: vec![condition],
    }
}
