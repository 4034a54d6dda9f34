//! A client for any Kubernetes API server.
//!
//! From: a kubeconfig, or the service account of a pod.
//! To:   requests over one transport, and what came of them.

pub mod config;
pub mod kubeconfig;
mod secret;

pub use config::{Config, ConfigError};
pub use secret::Secret;
