//! The pods of nodes, for the node controllers.

use serde::Deserialize;
use serde_json::{Value, json};
use watchkeeper_cache::Reader;
use watchkeeper_client::dynamic::{DeleteOptions, DynamicApi, WriteOptions};
use watchkeeper_client::rest::{PatchKind, RequestError};

use super::Toleration;
use watchkeeper_core::Timestamp;

use crate::context::ControllerContext;
use crate::kubelet::BY_NODE;
use crate::resource::PODS;
use crate::view::{Condition, Meta, decodable};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pod {
    pub(super) metadata: Meta,
    pub(super) spec: Spec,
    pub(super) status: Status,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Spec {
    pub(super) tolerations: Vec<Toleration>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    pub(super) phase: String,
    pub(super) conditions: Vec<Condition>,
}

/// The pods of all nodes.
#[derive(Clone)]
pub(super) struct Pods {
    pub(super) reader: Reader<Pod>,
    api: DynamicApi,
}

impl Pods {
    pub(super) fn new(context: &ControllerContext) -> Self {
        Self { reader: context.reader(PODS), api: context.api(PODS) }
    }

    pub(super) fn on(&self, node: &str) -> Vec<std::sync::Arc<Pod>> {
        self.reader.by_index(BY_NODE, node).map(decodable).unwrap_or_default() // there are no pods before the index
    }

    /// Returns the names of all nodes that have pods.
    pub(super) fn nodes(&self) -> Vec<String> {
        let now = self.reader.store().snapshot();
        let names = now.index_values(BY_NODE);
        names
            .map(|names| names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
            .unwrap_or_default()
    }

    /// Patches a pod's status. A pod that was deleted or replaced is ignored.
    pub(super) async fn patch_status(&self, pod: &Pod, status: Value) -> Result<(), RequestError> {
        let patch = json!({"metadata": {"uid": pod.metadata.uid}, "status": status});
        let api = self.api.clone().namespace(&pod.metadata.namespace);
        let options = WriteOptions::default();
        ignore_gone(api.patch_status(&pod.metadata.name, PatchKind::Strategic, &patch, &options).await)
    }

    /// Deletes a pod, after setting its `DisruptionTarget` condition.
    pub(super) async fn disrupt(
        &self,
        pod: &Pod,
        phase: Option<&str>,
        (reason, message): (&str, &str),
        grace: Option<i64>,
    ) -> Result<(), RequestError> {
        let mut status = json!({"conditions": [{
            "type": "DisruptionTarget",
            "status": "True",
            "reason": reason,
            "message": message,
            "lastTransitionTime": Timestamp::now().to_string(),
        }]});
        if let Some(phase) = phase {
            status["phase"] = phase.into();
        }
        self.patch_status(pod, status).await?;
        let options = DeleteOptions {
            grace_period_seconds: grace,
            uid: Some(pod.metadata.uid.clone()),
            ..DeleteOptions::default()
        };
        let api = self.api.clone().namespace(&pod.metadata.namespace);
        ignore_gone(api.delete(&pod.metadata.name, &options).await)
    }
}

fn ignore_gone<T>(outcome: Result<T, RequestError>) -> Result<(), RequestError> {
    match outcome {
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        outcome => outcome.map(drop),
    }
}
