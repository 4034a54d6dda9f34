//! Cells of pods and workloads.

use serde_json::Value;
use watchkeeper_core::elapsed;
use watchkeeper_wire::json_path::at;

use crate::cell::Subject;
use crate::pod::condition;
use crate::value::{int, list, selector, text, text_or_empty, timestamp};

pub(crate) fn pod_ready(subject: &Subject<'_>) -> Value {
    let pod = subject.pod();
    Value::from(format!("{}/{}", pod.ready, pod.total))
}

pub(crate) fn pod_status(subject: &Subject<'_>) -> Value {
    Value::from(subject.pod().status.clone())
}

pub(crate) fn pod_restarts(subject: &Subject<'_>) -> Value {
    let restarts = subject.pod().restarts;
    Value::from(match restarts.last {
        Some(last) if restarts.count != 0 => {
            format!("{} ({} ago)", restarts.count, subject.times.format(last))
        }
        _ => restarts.count.to_string(),
    })
}

/// The number of open readiness gates.
pub(crate) fn pod_gates(subject: &Subject<'_>) -> Value {
    let gates = list(subject.object, "spec.readinessGates");
    if gates.is_empty() {
        return Value::from("<none>");
    }
    let is_open =
        |gate: &&Value| condition(subject.object, text_or_empty(gate, "conditionType")) == Some("True");
    Value::from(format!("{}/{}", gates.iter().filter(is_open).count(), gates.len()))
}

/// Selector of a deployment: empty if absent, unlike others, and an error if invalid.
pub(crate) fn deployment_selector(subject: &Subject<'_>) -> Value {
    Value::from(selector(at(subject.object, "spec.selector")).unwrap_or_else(|| "<invalid>".to_owned()))
}

pub(crate) fn job_status(subject: &Subject<'_>) -> Value {
    let is = |name: &str| condition(subject.object, name) == Some("True");
    let status = match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if at(subject.object, "metadata.deletionTimestamp").is_some() => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    };
    Value::from(status)
}

pub(crate) fn job_completions(subject: &Subject<'_>) -> Value {
    let done = int(subject.object, "status.succeeded");
    Value::from(match at(subject.object, "spec.completions").and_then(Value::as_i64) {
        Some(wanted) => format!("{done}/{wanted}"),
        None => match int(subject.object, "spec.parallelism") {
            parallelism @ 2.. => format!("{done}/1 of {parallelism}"),
            _ => format!("{done}/1"),
        },
    })
}

/// Duration from start to end, or until now.
pub(crate) fn job_duration(subject: &Subject<'_>) -> Value {
    let time = |path| at(subject.object, path).and_then(timestamp);
    Value::from(match (time("status.startTime"), time("status.completionTime")) {
        (None, _) => String::new(),
        (Some(start), Some(end)) => elapsed(start, end),
        (Some(start), None) => subject.times.format(start),
    })
}

pub(crate) fn cronjob_suspend(subject: &Subject<'_>) -> Value {
    Value::from(match at(subject.object, "spec.suspend").and_then(Value::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    })
}

/// `statefulset.apps/web`.
pub(crate) fn revision_controller(subject: &Subject<'_>) -> Value {
    let owners = list(subject.object, "metadata.ownerReferences");
    let controls = |owner: &&Value| at(owner, "controller").and_then(Value::as_bool) == Some(true);
    let Some(owner) = owners.iter().find(controls) else { return Value::from("<none>") };
    let (kind, name) = (text_or_empty(owner, "kind"), text_or_empty(owner, "name"));
    let group =
        text(owner, "apiVersion").and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
    let kind = match group {
        "" => kind.to_owned(),
        group => format!("{kind}.{group}"),
    };
    Value::from(format!("{}/{name}", kind.to_lowercase()))
}
