//! Website: what users ask for, and what they are told of it.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wanted: so many copies of an image, which say something.
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
#[allow(clippy::duplicated_attributes, reason = "columns are attributes, and two of them are integers")]
#[serde(rename_all = "camelCase")]
pub struct WebsiteSpec {
    /// Which image is run.
    #[schemars(length(min = 1))]
    pub image: String,
    /// How many copies of it.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: i32,
    /// What it says, as the environment variable `MESSAGE`.
    #[serde(default = "hello")]
    #[schemars(length(min = 1))]
    pub message: String,
}

/// What there is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebsiteStatus {
    /// Of which generation of the spec this was said.
    pub observed_generation: i64,
    /// How many copies answer.
    pub ready_replicas: i32,
    /// In a word.
    pub phase: Phase,
    /// In the words that all controllers have in common.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// A website in a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Its copies are on their way.
    #[default]
    Progressing,
    /// All of them answer.
    Ready,
}

/// One thing that is so, or is not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Which: `Ready`.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True` or `False`.
    pub status: String,
    /// Why, in a word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
    /// Since when.
    pub last_transition_time: String,
}

fn one() -> i32 {
    1
}

fn hello() -> String {
    "Hello".to_owned()
}
