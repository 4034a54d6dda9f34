//! Pods.

use serde::Deserialize;
use watchkeeper_core::Timestamp;

use super::{Condition, Meta};
use crate::clock::after;

/// The fields of a pod that workload controllers read.
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
    /// Returns whether it has succeeded or failed.
    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Returns whether it counts as a replica.
    pub(crate) fn is_active(&self) -> bool {
        !self.is_finished() && !self.metadata.is_terminating()
    }

    /// Returns whether it is being deleted and still runs.
    pub(crate) fn is_terminating(&self) -> bool {
        !self.is_finished() && self.metadata.is_terminating()
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready().is_some()
    }

    /// Returns since when it is ready, or `None` if it is not or the time is unknown.
    pub(crate) fn ready_since(&self) -> Option<Timestamp> {
        self.ready()?.last_transition_time.as_deref()?.parse().ok()
    }

    fn ready(&self) -> Option<&Condition> {
        let ready = self.status.conditions.iter().find(|condition| condition.kind == "Ready")?;
        ready.is_true().then_some(ready)
    }

    /// Returns whether it has been ready for at least `min_ready_seconds`.
    pub(crate) fn is_available(&self, min_ready_seconds: i32, now: Timestamp) -> bool {
        self.is_ready()
            && (min_ready_seconds == 0 || self.available_at(min_ready_seconds).is_some_and(|at| at <= now))
    }

    /// Returns when it becomes available if it stays ready.
    pub(crate) fn available_at(&self, min_ready_seconds: i32) -> Option<Timestamp> {
        self.ready_since().map(|since| after(since, min_ready_seconds))
    }
}
