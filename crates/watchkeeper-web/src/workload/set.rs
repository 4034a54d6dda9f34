//! Deployments and replica sets: the fields that are read.

use std::collections::BTreeMap;

use serde::Deserialize;
use watchkeeper_core::StructuredSelector;

/// The revision annotation of deployments and replica sets.
const REVISION: &str = "deployment.kubernetes.io/revision";

#[derive(Debug, Deserialize)]
pub(super) struct Deployment {
    pub(super) metadata: Metadata,
    pub(super) spec: DeploymentSpec,
}

#[derive(Debug, Deserialize)]
pub(super) struct DeploymentSpec {
    pub(super) replicas: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReplicaSet {
    pub(super) metadata: Metadata,
    pub(super) spec: ReplicaSetSpec,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReplicaSetSpec {
    pub(super) selector: StructuredSelector,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) uid: String,
    annotations: BTreeMap<String, String>,
    owner_references: Vec<Owner>,
}

#[derive(Debug, Deserialize)]
struct Owner {
    uid: String,
    #[serde(default)]
    controller: bool,
}

impl Metadata {
    pub(super) fn revision(&self) -> Option<&str> {
        self.annotations.get(REVISION).map(String::as_str)
    }

    pub(super) fn is_managed_by(&self, uid: &str) -> bool {
        self.owner_references.iter().any(|owner| owner.controller && owner.uid == uid)
    }
}
