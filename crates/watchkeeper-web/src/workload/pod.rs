//! State of a pod.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Event;
use crate::tree::{Condition as Verdict, Health, assess};

/// The pod condition for container readiness.
const CONTAINERS_READY: &str = "ContainersReady";

/// State of a pod.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PodState {
    /// Name.
    pub name: String,
    /// Node; empty while unscheduled.
    pub node: String,
    /// Image of each container.
    pub images: Vec<String>,
    /// `Pending`, `Running`, ...
    pub phase: String,
    /// Whether its containers and readiness gates are ready.
    pub ready: bool,
    /// Health, by [`assess`].
    pub health: Health,
    /// Short description, such as `0/1 ready, CrashLoopBackOff`.
    pub status: String,
    /// Conditions.
    pub conditions: Vec<Condition>,
    /// Message of its last event; empty without events.
    pub message: String,
    /// Creation time.
    pub created: String,
}

/// A pod condition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// Type: `Ready`, `PodScheduled`, ...
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Short, machine-readable reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Description for humans.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A decoded pod with its health, which is assessed from the whole object.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Pod {
    pub(super) metadata: Metadata,
    spec: Spec,
    status: Status,
    verdict: Verdict,
}

impl TryFrom<Value> for Pod {
    type Error = serde_json::Error;

    fn try_from(value: Value) -> Result<Self, serde_json::Error> {
        let Parts { metadata, spec, status } = Parts::deserialize(&value)?;
        Ok(Self { metadata, spec, status, verdict: assess("", "Pod", &value) })
    }
}

#[derive(Debug, Deserialize)]
struct Parts {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    name: String,
    pub(super) uid: String,
    creation_timestamp: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: String,
    containers: Vec<Container>,
    readiness_gates: Vec<Gate>,
}

#[derive(Debug, Deserialize)]
struct Container {
    #[serde(default)]
    image: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Gate {
    condition_type: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: String,
    conditions: Vec<Condition>,
}

/// Returns whether a pod is ready (`workload.W3`).
pub(crate) fn is_pod_ready(pod: &Value) -> bool {
    Parts::deserialize(pod).is_ok_and(|pod| is_ready(&pod.spec, &pod.status))
}

impl Pod {
    pub(super) fn state(&self, last: Option<Arc<Event>>) -> PodState {
        PodState {
            name: self.metadata.name.clone(),
            node: self.spec.node_name.clone(),
            images: self.spec.containers.iter().map(|container| container.image.clone()).collect(),
            phase: self.status.phase.clone(),
            ready: is_ready(&self.spec, &self.status),
            health: self.verdict.health,
            status: self.verdict.status.clone(),
            conditions: self.status.conditions.clone(),
            message: last.map(|event| event.message.clone()).unwrap_or_default(),
            created: self.metadata.creation_timestamp.clone(),
        }
    }
}

/// Returns whether a pod is ready (`workload.W3`).
fn is_ready(spec: &Spec, status: &Status) -> bool {
    let is_true = |kind: &str| {
        status.conditions.iter().any(|condition| condition.kind == kind && condition.status == "True")
    };
    is_true(CONTAINERS_READY) && spec.readiness_gates.iter().all(|gate| is_true(&gate.condition_type))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is_ready(gates: &[&str], conditions: &[(&str, &str)]) -> bool {
        let gates: Vec<Value> = gates.iter().map(|gate| json!({"conditionType": gate})).collect();
        let conditions: Vec<Value> =
            conditions.iter().map(|(kind, status)| json!({"type": kind, "status": status})).collect();
        let pod =
            json!({"metadata": {}, "spec": {"readinessGates": gates}, "status": {"conditions": conditions}});
        is_pod_ready(&pod)
    }

    #[test]
    fn pods_are_ready_by_containers_and_readiness_gates() {
        assert!(is_ready(&[], &[("ContainersReady", "True")]));
        assert!(!is_ready(&[], &[]), "a missing condition is not true");
        assert!(!is_ready(&[], &[("Ready", "True")]), "only ContainersReady counts");
        assert!(!is_ready(&[], &[("ContainersReady", "Unknown")]));
        assert!(!is_ready(&["load"], &[("ContainersReady", "True")]));
        assert!(!is_ready(&["load"], &[("ContainersReady", "True"), ("load", "False")]));
        assert!(is_ready(&["load"], &[("ContainersReady", "True"), ("load", "True"), ("Ready", "False")]));
        assert!(!is_ready(&["load", "warm"], &[("ContainersReady", "True"), ("load", "True")]));
    }
}
