//! Validation of autoscalers.

use std::cmp::Ordering;

use watchkeeper_core::Quoted;

use crate::validate::amount::{Amount, container_resource, written};
use crate::validate::faults::{Faults, json};
use crate::validate::field::{Field, Object};
use crate::validate::selector::json_text;
use crate::validate::syntax::{label, path_segment};

const MOST_WINDOW_SECONDS: i64 = 3600;
const MOST_PERIOD_SECONDS: i64 = 1800;
const METRICS: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
/// Metric types and their fields, in the order of the checks.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];

/// Checks an autoscaler, except for its metadata.
pub(super) fn autoscaler(object: Object<'_>, old: Option<Object<'_>>, faults: &mut Faults) {
    let spec = object.field("spec");
    let (least, most) = (spec.child("minReplicas"), spec.child("maxReplicas"));
    if most.count() < least.number().unwrap_or(1) {
        faults.invalid_value(&most, most.count(), "must be greater than or equal to `minReplicas`");
    }
    let scaled = spec.child("scaleTargetRef");
    target(&scaled, scaled_group(&scaled, old), faults);
    let metrics = spec.child("metrics");
    for metric in metrics.items() {
        measure(&metric, faults);
    }
    let is_outside = |metric: Field<'_>| matches!(metric.child("type").text(), "Object" | "External");
    if least.number() == Some(0) && !metrics.items().any(is_outside) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        faults.forbidden(&metrics, why);
    }
    for direction in ["scaleUp", "scaleDown"] {
        let rules = spec.child("behavior").child(direction);
        if rules.is_set() {
            scaling(&rules, faults);
        }
    }
    faults.declared(|faults| {
        faults.negative(&least);
        match most.count() {
            0 => faults.required(&most, ""),
            ..0 => faults.invalid(&most, "must be greater than or equal to 1"),
            _ => {}
        }
    });
}

/// The requirement for the API version of a target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetVersion {
    /// None.
    Any,
    /// A valid API version.
    Valid,
    /// A valid API version with a group.
    WithGroup,
}

/// Returns the requirement for the scale target. The core group has only one scalable kind, and an unchanged version is
/// not checked.
fn scaled_group(scaled: &Field<'_>, old: Option<Object<'_>>) -> TargetVersion {
    let is_same = |old: Object<'_>| {
        let old = old.field("spec").child("scaleTargetRef");
        ["apiVersion", "kind"].iter().all(|name| old.child(name).text() == scaled.child(name).text())
    };
    match scaled.child("kind").text() {
        _ if old.is_some_and(is_same) => TargetVersion::Any,
        "ReplicationController" => TargetVersion::Valid,
        _ => TargetVersion::WithGroup,
    }
}

fn target(field: &Field<'_>, wanted: TargetVersion, faults: &mut Faults) {
    for name in ["kind", "name"] {
        let name = field.child(name);
        if name.is_empty() {
            faults.required(&name, "");
        } else {
            faults.malformed(&name, path_segment(name.text()));
        }
    }
    let version = field.child("apiVersion");
    if wanted == TargetVersion::Any {
        return;
    }
    if version.text().matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {}", version.text());
        faults.invalid(&version, &why);
    } else if wanted == TargetVersion::WithGroup
        && version.text().split_once('/').is_none_or(|(group, _)| group.is_empty())
    {
        faults.invalid_value(&version, Quoted(version.text()), "apiVersion must specify API group");
    }
}

fn scaling(rules: &Field<'_>, faults: &mut Faults) {
    let window = rules.child("stabilizationWindowSeconds");
    if window.count() < 0 {
        faults.invalid(&window, "must be greater than or equal to zero");
    }
    if window.count() > MOST_WINDOW_SECONDS {
        faults.invalid(&window, &format!("must be less than or equal to {MOST_WINDOW_SECONDS}"));
    }
    faults.one_of_set(&rules.child("selectPolicy"), &["Disabled", "Max", "Min"]);
    let policies = rules.child("policies");
    if policies.is_empty() {
        faults.required(&policies, "must specify at least one Policy");
    }
    for policy in policies.items() {
        let (kind, value, period) =
            (policy.child("type"), policy.child("value"), policy.child("periodSeconds"));
        if !matches!(kind.text(), "Percent" | "Pods") {
            faults.not_supported_value(&kind, json_text(kind.text()), &["Percent", "Pods"]);
        }
        for field in [&value, &period] {
            if field.count() <= 0 {
                faults.invalid_value(field, field.count(), "must be greater than zero");
            }
        }
        if period.count() > MOST_PERIOD_SECONDS {
            faults.invalid(&period, &format!("must be less than or equal to {MOST_PERIOD_SECONDS}"));
        }
    }
}

fn measure(metric: &Field<'_>, faults: &mut Faults) {
    let kind = metric.child("type");
    if kind.is_empty() {
        faults.required(&kind, "must specify a metric source type");
    }
    if !METRICS.contains(&kind.text()) {
        faults.not_supported_value(&kind, json_text(kind.text()), &METRICS);
    }
    let mut present: Vec<&str> =
        SOURCES.into_iter().map(|(_, name)| name).filter(|name| metric.child(name).is_set()).collect();
    if let Some(first) = present.first() {
        source(first, &metric.child(first), faults);
    }
    match SOURCES.into_iter().find(|(known, _)| *known == kind.text()) {
        Some((_, expected)) => {
            if !metric.child(expected).is_set() {
                let why = "must populate information for the given metric source";
                faults.required(&metric.child(expected), why);
            }
            if present.len() != 1 {
                present.retain(|name| *name != expected);
                for other in present {
                    faults.forbidden(&metric.child(other), "must populate the given metric source only");
                }
            }
        }
        None => faults.not_supported_value(&kind, json_text(kind.text()), &METRICS),
    }
}

fn source(kind: &str, field: &Field<'_>, faults: &mut Faults) {
    let goal = field.child("target");
    let (value, average, share) =
        (goal.child("value"), goal.child("averageValue"), goal.child("averageUtilization"));
    match kind {
        "object" => {
            target(&field.child("describedObject"), TargetVersion::Valid, faults);
            identifier(field, faults);
            check_goal(&goal, faults);
            if !value.is_set() && !average.is_set() {
                faults.required(&average, "must set either a target value or averageValue");
            }
        }
        "external" => {
            identifier(field, faults);
            check_goal(&goal, faults);
            if !value.is_set() && !average.is_set() {
                faults.required(&average, "must set either a target value for metric or a per-pod target");
            }
            if value.is_set() && average.is_set() {
                faults.forbidden(&value, "may not set both a target value for metric and a per-pod target");
            }
        }
        "pods" => {
            identifier(field, faults);
            check_goal(&goal, faults);
            if !average.is_set() {
                faults.required(&average, "must specify a positive target averageValue");
            }
        }
        _ => {
            resource(kind, field, faults);
            check_goal(&goal, faults);
            if !share.is_set() && !average.is_set() {
                faults.required(&share, "must set either a target raw value or a target utilization");
            }
            if share.is_set() && average.is_set() {
                faults.forbidden(&average, "may not set both a target raw value and a target utilization");
            }
        }
    }
}

fn resource(kind: &str, field: &Field<'_>, faults: &mut Faults) {
    let (name, container) = (field.child("name"), field.child("container"));
    if name.is_empty() {
        faults.required(&name, "must specify a resource name");
    } else if kind == "containerResource" {
        container_resource(name.text(), &name, faults);
    }
    if kind == "containerResource" {
        if container.is_empty() {
            faults.required(&container, "must specify a container");
        } else {
            faults.malformed(&container, label(container.text()));
        }
    }
}

fn identifier(field: &Field<'_>, faults: &mut Faults) {
    let name = field.child("metric").child("name");
    if name.is_empty() {
        faults.required(&name, "must specify a metric name");
    } else {
        faults.malformed(&name, path_segment(name.text()));
    }
}

fn check_goal(goal: &Field<'_>, faults: &mut Faults) {
    let kind = goal.child("type");
    if kind.is_empty() {
        faults.required(&kind, "must specify a metric target type");
    }
    if !matches!(kind.text(), "Utilization" | "Value" | "AverageValue") {
        let why = "must be either Utilization, Value, or AverageValue";
        faults.invalid_value(&kind, json_text(kind.text()), why);
    }
    for name in ["value", "averageValue"] {
        let amount = goal.child(name);
        if Amount::of(amount.value()).is_some_and(|amount| amount.sign() != Ordering::Greater) {
            faults.invalid_value(&amount, Quoted(&written(&amount)), "must be positive");
        }
    }
    let share = goal.child("averageUtilization");
    if share.number().is_some_and(|share| share < 1) {
        faults.invalid_value(&share, json(share.value()), "must be greater than 0");
    }
}
