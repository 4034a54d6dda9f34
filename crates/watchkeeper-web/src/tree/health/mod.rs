//! Health: how an object is, by its own account.
//!
//! Input: an object's JSON.
//! Output: a [`Condition`]: one of four words, and a few more for people. Every verdict that is shown comes from here: the
//!   rows of tables, the owner tree, the pods of a workload and `watchkeeper tree`.
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
//! - H1: what is being deleted is on its way, and so is what its controller has not seen in its newest generation.
//! - H2: the built-in kinds that say how they are in fields of their own are read by rules of their own.
//! - H3: any other is read by the conditions that operators have agreed upon: `Stalled`, `Reconciling`, `Ready`,
//!   `Available`. Without them nothing is known.
//! - H4: whatever is in the object, there is an answer.

mod agreed;
mod pod;
mod sets;
mod standing;

use serde::Serialize;
use serde_json::Value;

/// How an object is, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It does not say.
    Unknown,
    /// As it should be.
    Healthy,
    /// Not yet, but there is nothing wrong.
    Progressing,
    /// Something is wrong.
    Degraded,
}

impl Health {
    /// `healthy`, `progressing`, `degraded`, `unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::Progressing => "progressing",
            Self::Degraded => "degraded",
        }
    }
}

/// How an object is, and what is to be said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// How it is.
    pub health: Health,
    /// In a few words: `3/3 ready`. Empty where there is nothing to say.
    pub status: String,
}

impl Condition {
    /// Nothing is known.
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

/// How an object of a kind is.
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
    // H1
    if object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()) {
        return Condition::progressing("Terminating");
    }
    if let Some(seen) = object.pointer("/status/observedGeneration").and_then(Value::as_i64)
        && seen < int(object, "/metadata/generation")
    {
        return Condition::progressing("not seen by its controller yet");
    }
    match (group, kind) {
        ("apps", "Deployment") => sets::deployment(object),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => sets::replica_set(object),
        ("apps", "StatefulSet") => sets::stateful_set(object),
        ("apps", "DaemonSet") => sets::daemon_set(object),
        ("batch", "Job") => sets::job(object),
        ("batch", "CronJob") => sets::cron_job(object),
        ("", "Pod") => pod::pod(object),
        ("", "Service") => standing::service(object),
        ("", "PersistentVolumeClaim" | "PersistentVolume") => standing::volume(object),
        ("", "Node") => standing::node(object),
        ("", "Namespace") => standing::namespace(object),
        ("" | "events.k8s.io", "Event") => standing::event(object),
        _ => agreed::by_conditions(object),
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

/// The condition of a type.
fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    list(object, "/status/conditions").iter().find(|condition| text(condition, "/type") == name)
}

fn is_true(object: &Value, name: &str) -> bool {
    condition(object, name).is_some_and(|condition| text(condition, "/status") == "True")
}

/// Why a condition is as it is, or else its type.
fn reason(condition: &Value) -> &str {
    match text(condition, "/reason") {
        "" => text(condition, "/type"),
        reason => reason,
    }
}

#[cfg(test)]
mod tests;
