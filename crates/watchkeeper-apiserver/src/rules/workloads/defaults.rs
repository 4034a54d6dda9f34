//! Defaults of workloads that depend on other fields.

use serde_json::Value;

use crate::defaults::{Fields, is_empty, made, set, text};

pub(crate) fn deployment_strategy(strategy: &mut Fields) {
    set(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate"
        && let Some(rolling) = made(strategy, "rollingUpdate")
    {
        set(rolling, "maxUnavailable", "25%");
        set(rolling, "maxSurge", "25%");
    }
}

pub(crate) fn daemon_set_strategy(strategy: &mut Fields) {
    set(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate"
        && let Some(rolling) = made(strategy, "rollingUpdate")
    {
        set(rolling, "maxUnavailable", 1);
        set(rolling, "maxSurge", 0);
    }
}

/// An explicit `RollingUpdate` without parameters gets none.
pub(crate) fn stateful_set_strategy(strategy: &mut Fields) {
    if text(strategy, "type").is_empty() {
        set(strategy, "type", "RollingUpdate");
        made(strategy, "rollingUpdate");
    }
    if text(strategy, "type") == "RollingUpdate"
        && let Some(Value::Object(rolling)) = strategy.get_mut("rollingUpdate")
    {
        set(rolling, "partition", 0);
        set(rolling, "maxUnavailable", 1);
    }
}

/// Selector and labels default to the labels of the template.
pub(crate) fn replication_controller(controller: &mut Fields) {
    let Some(labels) = template_labels(controller) else { return };
    if let Some(Value::Object(spec)) = controller.get_mut("spec")
        && is_empty(spec, "selector")
    {
        spec.insert("selector".to_owned(), labels.clone());
    }
    label(controller, labels);
}

pub(crate) fn job(job: &mut Fields) {
    if let Some(labels) = template_labels(job) {
        label(job, labels);
    }
    let Some(Value::Object(spec)) = job.get_mut("spec") else { return };
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        set(spec, "completions", 1);
    }
    set(spec, "parallelism", 1);
    let retries = if spec.contains_key("backoffLimitPerIndex") { i32::MAX } else { 6 };
    set(spec, "backoffLimit", retries);
    set(spec, "completionMode", "NonIndexed");
    set(spec, "suspend", false);
    let replaced = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    set(spec, "podReplacementPolicy", replaced);
    set(spec, "manualSelector", false);
}

fn template_labels(object: &Fields) -> Option<Value> {
    let labels = object.get("spec")?.get("template")?.get("metadata")?.get("labels")?;
    labels.as_object().filter(|labels| !labels.is_empty())?;
    Some(labels.clone())
}

fn label(object: &mut Fields, labels: Value) {
    if let Some(metadata) = made(object, "metadata")
        && is_empty(metadata, "labels")
    {
        metadata.insert("labels".to_owned(), labels);
    }
}
