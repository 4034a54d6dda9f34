//! Health of an object, by its own status.
//!
//! Input: an object's JSON.
//! Output: a [`Condition`]: one of four verdicts and a short description. All displayed health comes from here: table
//!   rows, the owner tree, the pods of a workload and `watchkeeper tree`.
//!
//! | kind | degraded | progressing | healthy |
//! |---|---|---|---|
//! | any | | being deleted; newest generation not observed | |
//! | Deployment | `ReplicaFailure`, or `Progressing` is false | fewer updated or available than wanted, or old ones left | otherwise |
//! | ReplicaSet, ReplicationController | `ReplicaFailure` | fewer available than wanted | otherwise |
//! | StatefulSet, DaemonSet | | fewer ready, updated or available than wanted | otherwise |
//! | Job | `Failed` | running | `Complete`, suspended |
//! | CronJob | the last run did not succeed | a run is active | otherwise |
//! | Pod | phase `Failed`; a container waits for a reason such as `CrashLoopBackOff`, or ended with an error; unschedulable | not ready | ready, phase `Succeeded` |
//! | Service | | a load balancer without an address | otherwise |
//! | PersistentVolume, PersistentVolumeClaim | `Lost`, `Failed` | `Pending` | otherwise |
//! | Node | not ready, under pressure | | ready |
//! | Namespace | | `Terminating` | otherwise |
//! | Event | type `Warning` | | otherwise |
//! | others | `Stalled`; `Ready` or `Available` is false | `Reconciling` | `Ready` or `Available` |
//!
//! Invariants:
//! - `health.H1`: an object is progressing while it is being deleted, or its controller has not observed its newest
//!   generation.
//! - `health.H2`: built-in kinds with status fields of their own are assessed by rules of their own.
//! - `health.H3`: other kinds are assessed by the conditions that operators commonly set: `Stalled`, `Reconciling`,
//!   `Ready`, `Available`. Without them the health is unknown.
//! - `health.H4`: any object can be assessed.

mod conditions;
mod infrastructure;
mod pod;
mod workloads;

use serde::Serialize;
use serde_json::Value;

/// Health of an object, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// The object has no health status.
    Unknown,
    /// In the desired state.
    Healthy,
    /// Not yet in the desired state, without an error.
    Progressing,
    /// In an error state.
    Degraded,
}

impl Health {
    /// Returns `healthy`, `progressing`, `degraded` or `unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::Progressing => "progressing",
            Self::Degraded => "degraded",
        }
    }
}

/// Health of an object, and a short description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The health.
    pub health: Health,
    /// Short description, such as `3/3 ready`; may be empty.
    pub status: String,
}

impl Condition {
    /// Unknown health, without a description.
    pub const UNKNOWN: Self = Self { health: Health::Unknown, status: String::new() };

    fn healthy(status: impl Into<String>) -> Self {
        Self { health: Health::Healthy, status: status.into() }
    }

    fn progressing(status: impl Into<String>) -> Self {
        Self { health: Health::Progressing, status: status.into() }
    }

    fn degraded(status: impl Into<String>) -> Self {
        Self { health: Health::Degraded, status: status.into() }
    }
}

/// Assesses an object of a kind.
///
/// ```
/// use serde_json::json;
/// use watchkeeper_web::tree::{Health, assess};
///
/// let set = json!({"metadata": {}, "spec": {"replicas": 3}, "status": {"readyReplicas": 2, "availableReplicas": 2}});
/// let condition = assess("apps", "ReplicaSet", &set);
/// assert_eq!((condition.health, &*condition.status), (Health::Progressing, "2/3 ready"));
/// ```
pub fn assess(group: &str, kind: &str, object: &Value) -> Condition {
    // health.H1
    if object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()) {
        return Condition::progressing("Terminating");
    }
    if let Some(seen) = object.pointer("/status/observedGeneration").and_then(Value::as_i64)
        && seen < int(object, "/metadata/generation")
    {
        return Condition::progressing("not observed by its controller yet");
    }
    match (group, kind) {
        ("apps", "Deployment") => workloads::deployment(object),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => workloads::replica_set(object),
        ("apps", "StatefulSet") => workloads::stateful_set(object),
        ("apps", "DaemonSet") => workloads::daemon_set(object),
        ("batch", "Job") => workloads::job(object),
        ("batch", "CronJob") => workloads::cron_job(object),
        ("", "Pod") => pod::pod(object),
        ("", "Service") => infrastructure::service(object),
        ("", "PersistentVolumeClaim" | "PersistentVolume") => infrastructure::volume(object),
        ("", "Node") => infrastructure::node(object),
        ("", "Namespace") => infrastructure::namespace(object),
        ("" | "events.k8s.io", "Event") => infrastructure::event(object),
        _ => conditions::by_conditions(object),
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn int(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Finds the condition of a type.
fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    list(object, "/status/conditions").iter().find(|condition| text(condition, "/type") == name)
}

fn is_true(object: &Value, name: &str) -> bool {
    condition(object, name).is_some_and(|condition| text(condition, "/status") == "True")
}

/// Returns the reason of a condition, or else its type.
fn reason(condition: &Value) -> &str {
    match text(condition, "/reason") {
        "" => text(condition, "/type"),
        reason => reason,
    }
}

#[cfg(test)]
mod tests;
