//! Health of pods: ready as in workloads, or degraded with the reason of a container.

use serde_json::Value;

use super::{Condition, condition, int, list, reason, text};
use crate::workload;

/// Waiting reasons of containers that are about to start.
const STARTING: [&str; 3] = ["", "ContainerCreating", "PodInitializing"];

pub(super) fn pod(object: &Value) -> Condition {
    let containers = list(object, "/status/containerStatuses");
    let is_ready = |container: &&Value| container.pointer("/ready") == Some(&Value::Bool(true));
    let ready = format!(
        "{}/{} ready",
        containers.iter().filter(is_ready).count(),
        list(object, "/spec/containers").len()
    );
    match text(object, "/status/phase") {
        "Succeeded" => return Condition::healthy("Completed"),
        "Failed" => {
            let why = [text(object, "/status/reason"), trouble(object).unwrap_or_default(), "Failed"];
            return Condition::degraded(why.into_iter().find(|why| !why.is_empty()).unwrap_or_default());
        }
        "Unknown" => return Condition { status: "Unknown".to_owned(), ..Condition::UNKNOWN },
        _ => {}
    }
    if let Some(trouble) = trouble(object) {
        return Condition::degraded(format!("{ready}, {trouble}"));
    }
    let scheduled =
        condition(object, "PodScheduled").filter(|scheduled| text(scheduled, "/status") == "False");
    match scheduled.map(reason) {
        Some("Unschedulable") => Condition::degraded("Unschedulable"),
        Some(reason) => Condition::progressing(reason),
        None if workload::is_pod_ready(object) => Condition::healthy(ready),
        None => Condition::progressing(ready),
    }
}

/// Returns the reason of the first container that cannot start or has failed.
fn trouble(object: &Value) -> Option<&str> {
    let of = |containers| list(object, containers).iter();
    of("/status/initContainerStatuses").chain(of("/status/containerStatuses")).find_map(|container| {
        let waiting = text(container, "/state/waiting/reason");
        if !STARTING.contains(&waiting) {
            return Some(waiting);
        }
        let ended = container.pointer("/state/terminated").filter(|ended| int(ended, "/exitCode") != 0)?;
        match text(ended, "/reason") {
            "" => Some("Error"),
            reason => Some(reason),
        }
    })
}
