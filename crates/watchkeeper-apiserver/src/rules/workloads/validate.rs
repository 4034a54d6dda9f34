//! Checks that several workloads share.

use serde_json::Value;
use watchkeeper_core::Quoted;

use crate::rules::pods::{Owner, template};
use crate::validate::faults::{Faults, json};
use crate::validate::field::Field;
use crate::validate::selector::{is_without_content, json_text, parsed, selector, selects, shown};
use crate::validate::syntax::percent;

const IMMUTABLE: &str = "field is immutable";

/// Checks that a selector is unchanged.
pub(super) fn same_selector(before: &Field<'_>, now: &Field<'_>, faults: &mut Faults) {
    if before.value() != now.value() {
        faults.invalid_value(now, shown(now), IMMUTABLE);
    }
}

/// Checks a required selector, and the template that it must match.
pub(super) fn selected_template(spec: &Field<'_>, faults: &mut Faults) {
    let (selected, pods) = (spec.child("selector"), spec.child("template"));
    if !selected.is_set() {
        faults.required(&selected, "");
    }
    selector(&selected, faults);
    if is_without_content(&selected) {
        faults.invalid_value(&selected, shown(&selected), "empty selector is invalid for deployment");
    }
    if selected.is_set() && parsed(&selected).is_none() {
        faults.invalid_value(&selected, shown(&selected), "invalid label selector");
        return;
    }
    matching(&selected, &pods, faults);
    template(&pods, Owner::TEMPLATE, faults);
    always(&pods, "ReplicaSet", faults);
}

pub(super) fn matching(selected: &Field<'_>, pods: &Field<'_>, faults: &mut Faults) {
    let labels = pods.child("metadata").child("labels");
    if !is_without_content(selected) && selects(selected, labels.value()) == Some(false) {
        faults.invalid(&labels, "`selector` does not match template `labels`");
    }
}

/// Checks that the pods always restart and have no deadline.
pub(super) fn always(pods: &Field<'_>, kind: &str, faults: &mut Faults) {
    let spec = pods.child("spec");
    faults.one_of(&spec.child("restartPolicy"), &["Always"]);
    let deadline = spec.child("activeDeadlineSeconds");
    if deadline.is_set() {
        faults.forbidden(&deadline, &format!("activeDeadlineSeconds in {kind} is not Supported"));
    }
}

/// Formats a strategy as Go's internal type, without tags.
pub(super) fn internal_strategy(field: &Field<'_>) -> String {
    let rolling = field.child("rollingUpdate");
    let rolling = match rolling.value() {
        Value::Null => "null".to_owned(),
        _ => format!(
            "{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}",
            json(rolling.child("maxUnavailable").value()),
            json(rolling.child("maxSurge").value())
        ),
    };
    format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", json_text(field.child("type").text()))
}

/// Checks a number or a percentage.
pub(in crate::rules) fn share(field: &Field<'_>, faults: &mut Faults) {
    match field.value() {
        Value::String(text) => {
            for why in percent(text) {
                faults.invalid_value(field, json_text(text), &why);
            }
        }
        _ => faults.negative(field),
    }
}

/// Checks that a percentage is at most 100.
pub(in crate::rules) fn at_most_all(field: &Field<'_>, faults: &mut Faults) {
    if parts(field).is_some_and(|parts| parts > 100) {
        faults.invalid_value(field, Quoted(field.text()), "must not be greater than 100%");
    }
}

fn parts(field: &Field<'_>) -> Option<u64> {
    let digits = field.text().strip_suffix('%').filter(|_| percent(field.text()).is_empty())?;
    Some(digits.parse().unwrap_or(u64::MAX))
}

/// Returns whether it is set and zero. As in kube-apiserver, an invalid percentage counts as zero.
pub(super) fn is_nothing(field: &Field<'_>) -> bool {
    match field.value() {
        Value::Null => false,
        Value::String(text) => parts(field).or_else(|| text.parse().ok()).unwrap_or_default() == 0,
        _ => field.count() == 0,
    }
}
