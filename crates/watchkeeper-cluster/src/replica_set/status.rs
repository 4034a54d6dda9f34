//! Status: pod counts and conditions of a replica set.

use std::sync::Arc;
use std::time::Duration;

use watchkeeper_core::Timestamp;

use crate::clock::between;
use crate::view::{Condition, Pod, ReplicaSet, ReplicaSetStatus};

/// Condition type: pods could not be created or deleted.
const FAILURE: &str = "ReplicaFailure";

/// Returns the status for these active pods and a number of terminating ones.
pub(super) fn status(
    set: &ReplicaSet,
    active: &[Arc<Pod>],
    terminating: usize,
    failure: Option<&str>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let count = |is_so: &dyn Fn(&Pod) -> bool| number(active.iter().filter(|pod| is_so(pod)).count());
    let labels = set.spec.template["metadata"]["labels"].as_object();
    let has_all = |pod: &Pod| {
        let mut wanted = labels.into_iter().flatten();
        wanted.all(|(key, value)| pod.metadata.labels.get(key).map(String::as_str) == value.as_str())
    };
    ReplicaSetStatus {
        replicas: number(active.len()),
        fully_labeled_replicas: count(&has_all),
        ready_replicas: count(&Pod::is_ready),
        available_replicas: count(&|pod| pod.is_available(set.spec.min_ready_seconds, now)),
        terminating_replicas: Some(number(terminating)),
        observed_generation: set.metadata.generation,
        conditions: conditions(set, active.len(), failure, now),
    }
}

/// Returns the conditions. The first failure is kept until pods can be created or deleted again.
fn conditions(set: &ReplicaSet, active: usize, failure: Option<&str>, now: Timestamp) -> Vec<Condition> {
    let mut conditions = set.status.conditions.clone();
    let has_failed = conditions.iter().any(|condition| condition.kind == FAILURE);
    match failure {
        None => conditions.retain(|condition| condition.kind != FAILURE),
        Some(_) if has_failed => {}
        Some(message) => {
            let reason = match number(active).cmp(&set.replicas()) {
                std::cmp::Ordering::Less => "FailedCreate",
                std::cmp::Ordering::Greater => "FailedDelete",
                std::cmp::Ordering::Equal => "",
            };
            conditions.push(Condition {
                kind: FAILURE.to_owned(),
                status: "True".to_owned(),
                reason: reason.to_owned(),
                message: message.to_owned(),
                last_transition_time: Some(now.to_string()),
            });
        }
    }
    conditions
}

/// Returns when the next pod becomes available.
pub(super) fn next_available(set: &ReplicaSet, active: &[Arc<Pod>], now: Timestamp) -> Option<Duration> {
    let seconds = set.spec.min_ready_seconds;
    let not_yet = active.iter().filter(|pod| pod.is_ready() && !pod.is_available(seconds, now));
    // A pod whose ready time is unknown is checked again after the full period.
    let whole = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    not_yet.map(|pod| pod.available_at(seconds).and_then(|at| between(now, at)).unwrap_or(whole)).min()
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn set(spec: &Value, conditions: &Value) -> ReplicaSet {
        let set = json!({"metadata": {"generation": 3}, "spec": spec, "status": {"conditions": conditions}});
        serde_json::from_value(set).unwrap()
    }

    fn pod(labels: &Value, ready_since: Option<&str>) -> Arc<Pod> {
        let ready =
            ready_since.map(|since| json!({"type": "Ready", "status": "True", "lastTransitionTime": since}));
        let conditions: Vec<Value> = ready.into_iter().collect();
        let pod =
            json!({"metadata": {"labels": labels}, "status": {"phase": "Running", "conditions": conditions}});
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn pods_are_counted_by_their_state() {
        let template = json!({"metadata": {"labels": {"app": "web", "tier": "front"}}});
        let set = set(&json!({"replicas": 4, "minReadySeconds": 10, "template": template}), &json!([]));
        let (whole, part) = (json!({"app": "web", "tier": "front", "x": "y"}), json!({"app": "web"}));
        let pods = [
            pod(&whole, None),
            pod(&whole, Some("2026-01-01T00:00:00Z")),
            pod(&whole, Some("2026-01-01T00:00:07Z")),
            pod(&part, Some("2026-01-01T00:00:04Z")),
        ];
        let now = "2026-01-01T00:00:10Z".parse().unwrap();
        let status = status(&set, &pods, 2, None, now);
        let expected = json!({
            "replicas": 4, "fullyLabeledReplicas": 3, "readyReplicas": 3, "availableReplicas": 1,
            "terminatingReplicas": 2, "observedGeneration": 3,
        });
        assert_eq!(serde_json::to_value(status).unwrap(), expected);
        assert_eq!(next_available(&set, &pods, now), Some(Duration::from_secs(4)));
        let later = "2026-01-01T00:00:17Z".parse().unwrap();
        assert_eq!(next_available(&set, &pods, later), None);
        let unsaid = [pod(&json!({}), Some(""))];
        assert_eq!(next_available(&set, &unsaid, later), Some(Duration::from_secs(10)));
    }

    #[test]
    fn the_first_failure_is_kept_until_there_is_none() {
        let now: Timestamp = "2026-01-01T00:00:10Z".parse().unwrap();
        let other = json!({"type": "Odd", "status": "True", "reason": "", "message": "",
                           "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let conditions_of = |set: &ReplicaSet, active, failure| {
            serde_json::to_value(conditions(set, active, failure, now)).unwrap()
        };
        let failed = |reason, message| {
            json!([other.clone(), {"type": FAILURE, "status": "True", "reason": reason, "message": message,
                            "lastTransitionTime": "2026-01-01T00:00:10Z"}])
        };
        let fine = set(&json!({"replicas": 2}), &json!([other]));
        assert_eq!(conditions_of(&fine, 1, Some("no quota")), failed("FailedCreate", "no quota"));
        assert_eq!(conditions_of(&fine, 3, Some("no way")), failed("FailedDelete", "no way"));
        let bad = set(&json!({"replicas": 2}), &failed("FailedCreate", "no quota"));
        assert_eq!(conditions_of(&bad, 1, Some("no quota either")), failed("FailedCreate", "no quota"));
        assert_eq!(conditions_of(&bad, 2, None), json!([other]));
    }
}
