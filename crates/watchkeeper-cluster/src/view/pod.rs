//! Pods.

use serde::Deserialize;
use watchkeeper_core::Timestamp;

use super::{Condition, Meta};
use crate::clock::after;

/// What is known of a pod to whoever counts it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Pod {
    pub(crate) metadata: Meta,
    pub(crate) spec: PodSpec,
    pub(crate) status: PodStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodSpec {
    pub(crate) node_name: String,
    pub(crate) init_containers: Vec<InitContainer>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct InitContainer {
    pub(crate) name: String,
    /// `Always` makes it a sidecar.
    pub(crate) restart_policy: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodStatus {
    pub(crate) phase: String,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) container_statuses: Vec<ContainerStatus>,
    pub(crate) init_container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerStatus {
    pub(crate) name: String,
    pub(crate) restart_count: i32,
}

impl Pod {
    /// Whether it has run to its end, well or not.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Whether it counts as a replica.
    pub(crate) fn is_active(&self) -> bool {
        !self.is_over() && !self.metadata.is_going()
    }

    /// Whether it was asked to go and has not ended yet.
    pub(crate) fn is_ending(&self) -> bool {
        !self.is_over() && self.metadata.is_going()
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready().is_some()
    }

    /// Since when it is ready; `None` if it is not, or does not say.
    pub(crate) fn ready_since(&self) -> Option<Timestamp> {
        self.ready()?.last_transition_time.as_deref()?.parse().ok()
    }

    fn ready(&self) -> Option<&Condition> {
        let ready = self.status.conditions.iter().find(|condition| condition.kind == "Ready")?;
        ready.is_true().then_some(ready)
    }

    /// Whether it has been ready for so many seconds.
    pub(crate) fn is_available(&self, min_ready_seconds: i32, now: Timestamp) -> bool {
        self.is_ready()
            && (min_ready_seconds == 0 || self.available_at(min_ready_seconds).is_some_and(|at| at <= now))
    }

    /// When it will have been, if it stays so.
    pub(crate) fn available_at(&self, min_ready_seconds: i32) -> Option<Timestamp> {
        self.ready_since().map(|since| after(since, min_ready_seconds))
    }
}
