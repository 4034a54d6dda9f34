//! Fields of pods that the server sets.

use serde_json::{Map, Value, json};

use super::resources;
use crate::clock::now;
use crate::write::{Draft, nested};

/// The grace period of a pod whose spec sets none.
const DEFAULT_GRACE_SECONDS: i64 = 30;

/// Completes a new pod.
pub(super) fn complete(pod: &mut Draft) {
    let is_gated = pod.part("spec").is_some_and(|spec| {
        spec.get("schedulingGates").and_then(Value::as_array).is_some_and(|gates| !gates.is_empty())
    });
    if is_gated {
        let condition = json!({
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": null,
            "lastTransitionTime": now().to_string(),
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        });
        pod.set_in("status", "conditions", Some(json!([condition])));
    }
    let pairs = |pod: &Draft, name| pod.meta(name).and_then(Value::as_object).cloned().unwrap_or_default();
    let (labels, annotations) = (pairs(pod, "labels"), pairs(pod, "annotations"));
    let spec = pod.part_mut("spec");
    confine(spec, &annotations);
    resources::complete(spec);
    let spreads = spec.get_mut("topologySpreadConstraints").and_then(Value::as_array_mut);
    spreads.into_iter().flatten().for_each(|constraint| select_by_keys(constraint, &labels));
    for affinity in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec.get_mut("affinity").and_then(|all| all.get_mut(affinity)) else { continue };
        let required = affinity.get_mut("requiredDuringSchedulingIgnoredDuringExecution");
        let required = required.and_then(Value::as_array_mut).into_iter().flatten();
        required.for_each(|term| select_by_keys(term, &labels));
        let preferred = affinity.get_mut("preferredDuringSchedulingIgnoredDuringExecution");
        for weighted in preferred.and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(term) = weighted.get_mut("podAffinityTerm") {
                select_by_keys(term, &labels);
            }
        }
    }
    let quality = resources::quality_of_service(pod.part("spec"));
    pod.set_in("status", "qosClass", Some(quality.into()));
}

/// Adds the pod's own labels to a term with `matchLabelKeys` or `mismatchLabelKeys`.
fn select_by_keys(term: &mut Value, labels: &Map<String, Value>) {
    let mut wanted = Vec::new();
    for (keys, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term[keys].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                wanted.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if let Some(selector) = term.get_mut("labelSelector").and_then(Value::as_object_mut)
        && !wanted.is_empty()
        && let Value::Array(expressions) = selector.entry("matchExpressions").or_insert_with(|| json!([]))
    {
        expressions.extend(wanted);
    }
}

/// Converts deprecated AppArmor annotations to fields.
fn confine(spec: &mut Map<String, Value>, annotations: &Map<String, Value>) {
    const PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
    if spec.get("os").is_some_and(|os| os["name"] == "windows") {
        return;
    }
    let of_pod = spec.get("securityContext").and_then(|context| context.get("appArmorProfile").cloned());
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for container in containers.filter_map(Value::as_object_mut) {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            let given = annotations.get(&format!("{PREFIX}{name}")).and_then(Value::as_str);
            let profile = given.and_then(profile);
            if profile.is_some() && profile != of_pod {
                let context = nested(container, &["securityContext"]);
                if let Some(profile) = profile {
                    context.entry("appArmorProfile").or_insert(profile);
                }
            }
        }
    }
}

fn profile(given: &str) -> Option<Value> {
    match given {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        _ => {
            let name = given.strip_prefix("localhost/").filter(|name| !name.is_empty())?;
            Some(json!({"type": "Localhost", "localhostProfile": name}))
        }
    }
}

/// A status without a QoS class keeps the previous one.
pub(super) fn keep_quality(old: &Draft, new: &mut Draft) {
    let class = |pod: &Draft| pod.part("status").and_then(|status| status.get("qosClass")).cloned();
    if class(new).is_none_or(|class| class == "")
        && let Some(class) = class(old)
    {
        new.set_in("status", "qosClass", Some(class));
    }
}

/// Returns how long a pod may take to end: 0 if it is not assigned to a node or has ended.
pub(super) fn grace_seconds(pod: &Draft, asked: Option<i64>) -> i64 {
    let in_spec = || pod.part("spec").and_then(|spec| spec["terminationGracePeriodSeconds"].as_i64());
    let node = pod.part("spec").and_then(|spec| spec["nodeName"].as_str()).unwrap_or_default();
    let phase = pod.part("status").and_then(|status| status["phase"].as_str());
    if node.is_empty() || matches!(phase, Some("Failed" | "Succeeded")) {
        return 0;
    }
    match asked.or_else(in_spec).unwrap_or(DEFAULT_GRACE_SECONDS) {
        seconds if seconds < 0 => 1,
        seconds => seconds,
    }
}
