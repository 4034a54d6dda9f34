//! Replica sets.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use watchkeeper_core::{LabelSelector, StructuredSelector};

use super::{Condition, Meta};

/// The fields of a replica set that its own and the deployment controller read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ReplicaSet {
    pub(crate) metadata: Meta,
    pub(crate) spec: ReplicaSetSpec,
    pub(crate) status: ReplicaSetStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReplicaSetSpec {
    pub(crate) replicas: Option<i32>,
    pub(crate) min_ready_seconds: i32,
    pub(crate) selector: Option<StructuredSelector>,
    /// Copied verbatim.
    pub(crate) template: Value,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReplicaSetStatus {
    pub(crate) replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) fully_labeled_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) ready_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) available_replicas: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) terminating_replicas: Option<i32>,
    #[serde(skip_serializing_if = "is_zero_generation")]
    pub(crate) observed_generation: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
}

impl ReplicaSet {
    /// Returns the desired number of replicas.
    pub(crate) fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    pub(crate) fn selector(&self) -> Option<LabelSelector> {
        selector(self.spec.selector.as_ref())
    }
}

/// Returns a workload's selector. An empty or invalid one selects nothing.
pub(crate) fn selector(written: Option<&StructuredSelector>) -> Option<LabelSelector> {
    LabelSelector::try_from(written?).ok().filter(|selector| !selector.is_everything())
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "required by serde")]
pub(super) fn is_zero(number: &i32) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "required by serde")]
pub(super) fn is_zero_generation(number: &i64) -> bool {
    *number == 0
}
