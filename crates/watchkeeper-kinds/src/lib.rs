//! The typed edge: every built-in kind, and one's own, as Rust types.
//!
//! From: a [`Client`], which knows no kind.
//! To:   programs that want a [`Pod`](k8s_openapi::api::core::v1::Pod) and not a tree of values.

mod api;
pub mod apply;

pub use api::Api;
pub use k8s_openapi;
pub use kube_core;
pub use watchkeeper_client::Client;
