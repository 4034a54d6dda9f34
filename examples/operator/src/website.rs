//! Website: the custom resource.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state: replicas of an image that show a message.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "watchkeeper.example",
    version = "v1",
    kind = "Website",
    namespaced,
    status = "WebsiteStatus",
    derive = "PartialEq",
    printcolumn(name = "Wanted", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.readyReplicas"),
    crates(kube_core = "kube_core", k8s_openapi = "watchkeeper_kinds::k8s_openapi")
)]
#[allow(clippy::duplicated_attributes, reason = "two print columns have the same type")]
#[serde(rename_all = "camelCase")]
pub struct WebsiteSpec {
    /// The image to run.
    #[schemars(length(min = 1))]
    pub image: String,
    /// The number of replicas.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: i32,
    /// The message, passed as the environment variable `MESSAGE`.
    #[serde(default = "hello")]
    #[schemars(length(min = 1))]
    pub message: String,
}

/// The observed state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebsiteStatus {
    /// The generation of the spec that this status is about.
    pub observed_generation: i64,
    /// The number of ready replicas.
    pub ready_replicas: i32,
    /// A summary.
    pub phase: Phase,
    /// Standard conditions.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// A summary of the state of a website.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// The rollout is in progress.
    #[default]
    Progressing,
    /// All replicas are ready and up to date.
    Ready,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type: `Ready`.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True` or `False`.
    pub status: String,
    /// The reason, one CamelCase word.
    pub reason: String,
    /// The reason, one sentence.
    pub message: String,
    /// When the status last changed.
    pub last_transition_time: String,
}

fn one() -> i32 {
    1
}

fn hello() -> String {
    "Hello".to_owned()
}
