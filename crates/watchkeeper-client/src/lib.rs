//! A client for any Kubernetes API server.
//!
//! From: a kubeconfig, or the service account of a pod.
//! To:   requests over one transport, and what came of them.

pub mod kubeconfig;
mod secret;

pub use secret::Secret;
