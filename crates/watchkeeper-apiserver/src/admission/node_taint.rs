//! `TaintNodesByCondition`: nothing is scheduled to a new node before it is ready.

use serde_json::json;

use super::{AdmissionFuture, AdmissionPlugin, AdmissionRequest};
use crate::write::Draft;

pub(super) const NOT_READY: &str = "node.kubernetes.io/not-ready";

pub(super) struct TaintNodesByCondition;

impl AdmissionPlugin for TaintNodesByCondition {
    fn name(&self) -> &str {
        "TaintNodesByCondition"
    }

    fn handles(&self, request: &AdmissionRequest<'_>) -> bool {
        request.creates("", "nodes")
    }

    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        if let Some(node) = request.object.as_deref_mut() {
            taint(node);
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

fn taint(node: &mut Draft) {
    let is_tainted = node
        .spec_list("taints")
        .iter()
        .any(|taint| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule");
    if !is_tainted {
        node.push_to_spec("taints", json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}
