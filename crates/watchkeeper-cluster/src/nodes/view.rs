//! The fields of nodes that the controllers read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Taint;
use crate::view::Meta;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Node {
    pub(crate) metadata: Meta,
    pub(crate) spec: NodeSpec,
    pub(crate) status: NodeStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NodeSpec {
    pub(crate) unschedulable: bool,
    pub(crate) taints: Vec<Taint>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NodeStatus {
    pub(crate) allocatable: BTreeMap<String, String>,
    pub(crate) conditions: Vec<NodeCondition>,
}

/// A condition of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeCondition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) last_heartbeat_time: Option<String>,
    pub(crate) last_transition_time: Option<String>,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl Node {
    pub(crate) fn condition(&self, kind: &str) -> Option<&NodeCondition> {
        self.status.conditions.iter().find(|condition| condition.kind == kind)
    }
}
