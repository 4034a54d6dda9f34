//! Conditions of a deployment.

use watchkeeper_core::Timestamp;

use crate::view::DeploymentCondition;

pub(super) const AVAILABLE: &str = "Available";
pub(super) const PROGRESSING: &str = "Progressing";
pub(super) const REPLICA_FAILURE: &str = "ReplicaFailure";

/// Condition reasons.
pub(super) const NEW_AVAILABLE: &str = "NewReplicaSetAvailable";
pub(super) const TIMED_OUT: &str = "ProgressDeadlineExceeded";
pub(super) const PAUSED: &str = "DeploymentPaused";

/// Returns a condition that changes now.
pub(super) fn condition(
    kind: &str,
    status: &str,
    reason: &str,
    message: String,
    now: Timestamp,
) -> DeploymentCondition {
    DeploymentCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        last_update_time: Some(now.to_string()),
        last_transition_time: Some(now.to_string()),
        reason: reason.to_owned(),
        message,
    }
}

pub(super) fn find<'a>(all: &'a [DeploymentCondition], kind: &str) -> Option<&'a DeploymentCondition> {
    all.iter().find(|condition| condition.kind == kind)
}

/// Sets a condition, unless status and reason are unchanged. Keeps the transition time if the status is
/// unchanged.
pub(super) fn set(all: &mut Vec<DeploymentCondition>, mut condition: DeploymentCondition) {
    if let Some(current) = find(all, &condition.kind)
        && current.status == condition.status
    {
        if current.reason == condition.reason {
            return;
        }
        condition.last_transition_time.clone_from(&current.last_transition_time);
    }
    remove(all, &condition.kind);
    all.push(condition);
}

pub(super) fn remove(all: &mut Vec<DeploymentCondition>, kind: &str) {
    all.retain(|condition| condition.kind != kind);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_a_condition_keeps_its_transition_time() {
        let at = |text: &str| text.parse().unwrap();
        let progressing =
            |status, reason, when| condition("Progressing", status, reason, String::new(), at(when));
        let mut all = vec![condition("Available", "True", "", String::new(), at("2026-01-01T00:00:00Z"))];
        set(&mut all, progressing("True", "NewReplicaSetCreated", "2026-01-01T00:00:01Z"));
        set(&mut all, progressing("True", "NewReplicaSetCreated", "2026-01-01T00:00:02Z"));
        assert_eq!(all[1].last_update_time.as_deref(), Some("2026-01-01T00:00:01Z"), "unchanged");
        set(&mut all, progressing("True", "ReplicaSetUpdated", "2026-01-01T00:00:03Z"));
        let times = |all: &[DeploymentCondition]| {
            (all[1].last_update_time.clone().unwrap(), all[1].last_transition_time.clone().unwrap())
        };
        assert_eq!(times(&all), ("2026-01-01T00:00:03Z".to_owned(), "2026-01-01T00:00:01Z".to_owned()));
        set(&mut all, progressing("False", TIMED_OUT, "2026-01-01T00:00:04Z"));
        assert_eq!(times(&all), ("2026-01-01T00:00:04Z".to_owned(), "2026-01-01T00:00:04Z".to_owned()));
        remove(&mut all, "Available");
        assert_eq!(all.len(), 1);
    }
}
