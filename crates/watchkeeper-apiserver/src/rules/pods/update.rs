//! Updates of pods: most of the spec is immutable.

use serde_json::Value;

use super::validate::{MIRROR, pod, special_annotations};
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::metadata::{self, Finalizers};
use crate::validate::syntax::NameRule;
use crate::validate::syntax::in_range;

/// kube-apiserver appends a diff.
const CHANGEABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Checks a pod that replaces `old`, after the generic metadata.
pub(in crate::rules) fn changed(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    metadata::new(new, NameRule::Subdomain, Finalizers::Owned, faults);
    pod(new, faults);
    let (before, spec) = (old.field("spec"), new.field("spec"));
    let annotations = new.field("metadata").child("annotations");
    mirror(old, &annotations, faults);
    special_annotations(&annotations, &spec, faults);
    for list in ["containers", "initContainers"] {
        let (containers, known) = (spec.child(list), before.child(list));
        if containers.len() != known.len() {
            faults.forbidden(&containers, "pod updates may not add or remove containers");
            return;
        }
        for container in containers.items() {
            let image = container.child("image");
            if image.is_empty() {
                faults.required(&image, "");
            }
            if image.text().trim() != image.text() {
                faults.invalid(&image, "must not have leading or trailing whitespace");
            }
        }
    }
    if !deadline(&before, &spec, faults) {
        return;
    }
    tolerations(&before.child("tolerations"), &spec.child("tolerations"), faults);
    gates(&before.child("schedulingGates"), &spec.child("schedulingGates"), faults);
    if masked(before.value(), before.value()) != masked(spec.value(), before.value()) {
        faults.forbidden(&spec, CHANGEABLE);
    }
}

fn mirror(old: Object<'_>, annotations: &Field<'_>, faults: &mut Faults) {
    let field = annotations.key(MIRROR);
    match (old.annotation(MIRROR), field.value().as_str()) {
        (Some(before), now) if now != Some(before) => {
            faults.forbidden(&field, "may not remove or update mirror pod annotation");
        }
        (None, Some(_)) => faults.forbidden(&field, "may not add mirror pod annotation"),
        _ => {}
    }
}

/// Checks that a deadline is only shortened. Returns whether to continue.
fn deadline(before: &Field<'_>, spec: &Field<'_>, faults: &mut Faults) -> bool {
    let (field, was) = (spec.child("activeDeadlineSeconds"), before.child("activeDeadlineSeconds").number());
    match (field.number(), was) {
        (Some(now), _) if !in_range(now, 0, i64::from(i32::MAX)).is_empty() => {
            faults.malformed(&field, in_range(now, 0, i64::from(i32::MAX)));
            false
        }
        (Some(now), Some(was)) if was < now => {
            faults.invalid(&field, "must be less than or equal to previous value");
            false
        }
        (None, Some(_)) => {
            faults.invalid_value(&field, "null", "must not update from a positive integer to nil value");
            true
        }
        _ => true,
    }
}

fn tolerations(before: &Field<'_>, now: &Field<'_>, faults: &mut Faults) {
    let without_seconds = |value: &Value| {
        let mut value = value.clone();
        if let Value::Object(fields) = &mut value {
            fields.remove("tolerationSeconds");
        }
        value
    };
    let kept: Vec<Value> = now.items().map(|toleration| without_seconds(toleration.value())).collect();
    if before.items().any(|toleration| !kept.contains(&without_seconds(toleration.value()))) {
        faults.forbidden(now, "existing toleration can not be modified except its tolerationSeconds");
        return;
    }
    super::placement::tolerations(now, faults);
}

fn gates(before: &Field<'_>, now: &Field<'_>, faults: &mut Faults) {
    let known: Vec<&str> = before.items().map(|gate| gate.child("name").text()).collect();
    for gate in now.items() {
        let name = gate.child("name");
        if !known.contains(&name.text()) {
            let why = format!("only deletion is allowed, but found new scheduling gate '{}'", name.text());
            faults.forbidden(&name, &why);
        }
    }
}

/// Returns a spec without the fields that an update may change. A gated pod may also change its node selection, and a
/// negative grace period may become 1.
fn masked(spec: &Value, before: &Value) -> Value {
    let mut spec = spec.clone();
    let Value::Object(fields) = &mut spec else { return spec };
    for list in ["containers", "initContainers"] {
        for container in fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            container["image"] = Value::Null;
        }
    }
    for name in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        fields.remove(name);
    }
    let is_gated = before["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
    if is_gated {
        fields.remove("nodeSelector");
        fields.remove("affinity");
    }
    let was_negative = before["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0);
    if was_negative && fields.get("terminationGracePeriodSeconds").and_then(Value::as_i64) == Some(1) {
        fields.insert(
            "terminationGracePeriodSeconds".to_owned(),
            before["terminationGracePeriodSeconds"].clone(),
        );
    }
    spec
}
