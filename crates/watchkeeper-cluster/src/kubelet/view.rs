//! The fields of pods that the kubelet reads and writes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::view::Meta;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pod {
    pub(super) metadata: Meta,
    pub(super) spec: Spec,
    pub(super) status: PodStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spec {
    pub(super) node_name: String,
    pub(super) host_network: bool,
    /// `Always`, `OnFailure` or `Never`.
    pub(super) restart_policy: String,
    pub(super) init_containers: Vec<ContainerSpec>,
    pub(super) containers: Vec<ContainerSpec>,
    pub(super) readiness_gates: Vec<ReadinessGate>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ContainerSpec {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) restart_policy: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ReadinessGate {
    pub(super) condition_type: String,
}

/// The status that the kubelet writes. The patch removes fields that are unset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodStatus {
    pub(super) observed_generation: Option<i64>,
    pub(super) phase: String,
    pub(super) conditions: Vec<PodCondition>,
    #[serde(rename = "hostIP")]
    pub(super) host_ip: Option<String>,
    #[serde(rename = "hostIPs")]
    pub(super) host_ips: Vec<Address>,
    #[serde(rename = "podIP")]
    pub(super) pod_ip: Option<String>,
    #[serde(rename = "podIPs")]
    pub(super) pod_ips: Vec<Address>,
    pub(super) start_time: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) init_container_statuses: Vec<ContainerStatus>,
    pub(super) container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Address {
    pub(super) ip: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodCondition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    pub(super) last_transition_time: Option<String>,
    pub(super) observed_generation: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ContainerStatus {
    pub(super) name: String,
    pub(super) state: Value,
    pub(super) last_state: Value,
    pub(super) ready: bool,
    pub(super) restart_count: u32,
    pub(super) image: String,
    #[serde(rename = "imageID")]
    pub(super) image_id: String,
    #[serde(rename = "containerID", skip_serializing_if = "String::is_empty")]
    pub(super) container_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started: Option<bool>,
}

impl Pod {
    pub(super) fn is_finished(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }
}

impl ContainerSpec {
    /// Returns whether it is an init container that keeps running.
    pub(super) fn is_sidecar(&self) -> bool {
        self.restart_policy == "Always"
    }
}

impl PodStatus {
    pub(super) fn condition(&self, kind: &str) -> Option<&PodCondition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Returns whether `other` contains everything in this status; it may have additional conditions.
    pub(super) fn is_covered_by(&self, other: &Self) -> bool {
        let conditions = self.conditions.iter().all(|ours| other.condition(&ours.kind) == Some(ours));
        conditions && *self == Self { conditions: self.conditions.clone(), ..other.clone() }
    }
}
