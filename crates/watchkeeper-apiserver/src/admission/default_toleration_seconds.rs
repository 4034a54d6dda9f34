//! `DefaultTolerationSeconds`: pods are evicted from an unreachable node after five minutes.

use serde_json::{Value, json};

use super::node_taint::NOT_READY;
use super::{AdmissionFuture, AdmissionPlugin, AdmissionRequest, Operation};
use crate::write::Draft;

/// How long a pod stays on a node that does not respond.
const TOLERATION_SECONDS: i64 = 300;
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

pub(super) struct DefaultTolerationSeconds;

impl AdmissionPlugin for DefaultTolerationSeconds {
    fn name(&self) -> &str {
        "DefaultTolerationSeconds"
    }

    fn handles(&self, request: &AdmissionRequest<'_>) -> bool {
        matches!(request.operation, Operation::Create | Operation::Update) && request.is_for("", "pods")
    }

    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        if let Some(pod) = request.object.as_deref_mut() {
            tolerate(pod);
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

fn tolerate(pod: &mut Draft) {
    for key in [NOT_READY, UNREACHABLE] {
        let tolerates = |toleration: &Value| {
            let has = |name: &str, wanted: &str| {
                toleration[name].as_str().is_none_or(|text| text.is_empty() || text == wanted)
            };
            has("key", key) && has("effect", "NoExecute")
        };
        if !pod.spec_list("tolerations").iter().any(tolerates) {
            let toleration = json!({
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": TOLERATION_SECONDS,
            });
            pod.push_to_spec("tolerations", toleration);
        }
    }
}
