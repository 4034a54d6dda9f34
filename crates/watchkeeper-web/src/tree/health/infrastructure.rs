//! Health of services, volumes, nodes, namespaces and events.

use serde_json::Value;

use super::{Condition, condition, is_true, list, text};

/// Node conditions that must not be true.
const PRESSURES: [&str; 4] = ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];

pub(super) fn service(object: &Value) -> Condition {
    match text(object, "/spec/type") {
        "LoadBalancer" if list(object, "/status/loadBalancer/ingress").is_empty() => {
            Condition::progressing("waiting for its load balancer")
        }
        "" => Condition::healthy("ClusterIP"),
        kind => Condition::healthy(kind),
    }
}

/// Claims and volumes use the same phases.
pub(super) fn volume(object: &Value) -> Condition {
    match text(object, "/status/phase") {
        "" => Condition::progressing("Pending"),
        phase @ "Pending" => Condition::progressing(phase),
        phase @ ("Lost" | "Failed") => Condition::degraded(phase),
        phase => Condition::healthy(phase),
    }
}

pub(super) fn node(object: &Value) -> Condition {
    let Some(ready) = condition(object, "Ready") else { return Condition::UNKNOWN };
    if text(ready, "/status") != "True" {
        return Condition::degraded("NotReady");
    }
    if let Some(pressure) = PRESSURES.into_iter().find(|pressure| is_true(object, pressure)) {
        return Condition::degraded(format!("Ready, {pressure}"));
    }
    match object.pointer("/spec/unschedulable") {
        Some(Value::Bool(true)) => Condition::healthy("Ready, SchedulingDisabled"),
        _ => Condition::healthy("Ready"),
    }
}

/// Assesses an event: a warning is degraded.
pub(super) fn event(object: &Value) -> Condition {
    let reason = text(object, "/reason");
    match text(object, "/type") {
        "Warning" => Condition::degraded(reason),
        _ => Condition::healthy(reason),
    }
}

pub(super) fn namespace(object: &Value) -> Condition {
    match text(object, "/status/phase") {
        "Terminating" => Condition::progressing("Terminating"),
        "" => Condition::UNKNOWN,
        phase => Condition::healthy(phase),
    }
}
