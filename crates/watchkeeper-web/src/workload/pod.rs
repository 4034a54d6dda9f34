//! Pods, and what people want to know of them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Event;
use crate::tree::{Condition as Verdict, Health, assess};

/// The condition that says that the containers are ready.
const CONTAINERS_READY: &str = "ContainersReady";

/// What people want to know of a pod.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PodState {
    /// Its name.
    pub name: String,
    /// Where it runs; empty while it does not.
    pub node: String,
    /// What it runs, a container each.
    pub images: Vec<String>,
    /// `Pending`, `Running`, ...
    pub phase: String,
    /// Whether it is ready, by its containers and its readiness gates.
    pub ready: bool,
    /// How it is, by [`assess`].
    pub health: Health,
    /// How it is, in a few words: `0/1 ready, CrashLoopBackOff`.
    pub status: String,
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// What last happened to it; empty where nothing is known.
    pub message: String,
    /// When it was created.
    pub created: String,
}

/// What is known of a pod in one respect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// In which: `Ready`, `PodScheduled`, ...
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in a word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A pod, and its verdict, for which all of it is looked at.
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

/// Whether the pod that this JSON is of is ready (W3).
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

/// W3.
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
    fn a_pod_is_ready_by_its_containers_and_its_gates() {
        assert!(is_ready(&[], &[("ContainersReady", "True")]));
        assert!(!is_ready(&[], &[]), "what is not there is not true");
        assert!(!is_ready(&[], &[("Ready", "True")]), "it is the containers that count");
        assert!(!is_ready(&[], &[("ContainersReady", "Unknown")]));
        assert!(!is_ready(&["load"], &[("ContainersReady", "True")]));
        assert!(!is_ready(&["load"], &[("ContainersReady", "True"), ("load", "False")]));
        assert!(is_ready(&["load"], &[("ContainersReady", "True"), ("load", "True"), ("Ready", "False")]));
        assert!(!is_ready(&["load", "warm"], &[("ContainersReady", "True"), ("load", "True")]));
    }
}
