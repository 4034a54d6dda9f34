//! Health of kinds that create pods, directly or through another kind.

use serde_json::Value;
use watchkeeper_core::Timestamp;

use super::{Condition, condition, int, is_true, reason, text};

/// Returns the desired number of replicas; the default is 1.
fn wanted(object: &Value) -> i64 {
    object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1)
}

pub(super) fn deployment(object: &Value) -> Condition {
    let wanted = wanted(object);
    let ready = format!("{}/{wanted} ready", int(object, "/status/readyReplicas"));
    let progress = condition(object, "Progressing").filter(|progress| text(progress, "/status") == "False");
    if let Some(failure) = failure(object).or(progress.map(reason)) {
        return Condition::degraded(format!("{ready}, {failure}"));
    }
    let [all, updated, available] =
        ["/status/replicas", "/status/updatedReplicas", "/status/availableReplicas"]
            .map(|path| int(object, path));
    if updated < wanted {
        Condition::progressing(format!("{ready}, {updated} updated"))
    } else if all > updated {
        Condition::progressing(format!("{ready}, {} old", all.saturating_sub(updated)))
    } else if available < wanted {
        Condition::progressing(ready)
    } else {
        Condition::healthy(ready)
    }
}

pub(super) fn replica_set(object: &Value) -> Condition {
    let wanted = wanted(object);
    let ready = format!("{}/{wanted} ready", int(object, "/status/readyReplicas"));
    match failure(object) {
        Some(failure) => Condition::degraded(format!("{ready}, {failure}")),
        None if int(object, "/status/availableReplicas") < wanted => Condition::progressing(ready),
        None => Condition::healthy(ready),
    }
}

pub(super) fn stateful_set(object: &Value) -> Condition {
    let (wanted, updated) = (wanted(object), int(object, "/status/updatedReplicas"));
    let ready = format!("{}/{wanted} ready", int(object, "/status/readyReplicas"));
    let rolls = text(object, "/spec/updateStrategy/type") != "OnDelete"
        && text(object, "/status/currentRevision") != text(object, "/status/updateRevision");
    // Pods below the partition are not updated.
    let to_update = wanted.saturating_sub(int(object, "/spec/updateStrategy/rollingUpdate/partition"));
    if int(object, "/status/readyReplicas") < wanted {
        Condition::progressing(ready)
    } else if rolls && updated < to_update {
        Condition::progressing(format!("{ready}, {updated} updated"))
    } else {
        Condition::healthy(ready)
    }
}

pub(super) fn daemon_set(object: &Value) -> Condition {
    let [wanted, ready, updated, available] =
        ["desiredNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable"]
            .map(|field| int(object, &format!("/status/{field}")));
    let status = format!("{ready}/{wanted} ready");
    let rolls = text(object, "/spec/updateStrategy/type") != "OnDelete";
    if rolls && updated < wanted {
        Condition::progressing(format!("{status}, {updated} updated"))
    } else if available < wanted {
        Condition::progressing(status)
    } else {
        Condition::healthy(status)
    }
}

pub(super) fn job(object: &Value) -> Condition {
    let completions = object.pointer("/spec/completions").and_then(Value::as_i64).unwrap_or(1);
    if let Some(failed) = condition(object, "Failed").filter(|failed| text(failed, "/status") == "True") {
        return Condition::degraded(reason(failed));
    }
    if is_true(object, "Complete") || is_true(object, "SuccessCriteriaMet") {
        return Condition::healthy("Complete");
    }
    if is_true(object, "Suspended") || object.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        return Condition::healthy("Suspended");
    }
    let mut status = format!("{}/{completions} done", int(object, "/status/succeeded"));
    match int(object, "/status/failed") {
        0 => {}
        failed => status.push_str(&format!(", {failed} failed")),
    }
    Condition::progressing(status)
}

/// Assesses a cron job. Its last run succeeded if the last success is not older than the last schedule.
pub(super) fn cron_job(object: &Value) -> Condition {
    if object.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        return Condition::healthy("Suspended");
    }
    let active = super::list(object, "/status/active").len();
    if active > 0 {
        return Condition::progressing(format!("{active} active"));
    }
    let moment = |path| text(object, path).parse::<Timestamp>().ok();
    match (moment("/status/lastScheduleTime"), moment("/status/lastSuccessfulTime")) {
        (None, _) => Condition::healthy("not run yet"),
        (Some(scheduled), Some(successful)) if successful >= scheduled => {
            Condition::healthy("last run succeeded")
        }
        _ => Condition::degraded("last run did not succeed"),
    }
}

/// Returns the reason why replicas cannot be created.
fn failure(object: &Value) -> Option<&str> {
    condition(object, "ReplicaFailure").filter(|failure| text(failure, "/status") == "True").map(reason)
}
