//! A client for any Kubernetes API server.
//!
//! From: a kubeconfig, or the service account of a pod.
//! To:   requests over one transport, and what came of them.

pub mod auth;
pub mod config;
pub mod discovery;
pub mod kubeconfig;
pub mod rest;
mod secret;
pub mod source;
pub mod transport;

pub use config::{Config, ConfigError};
pub use discovery::DiscoveryClient;
pub use rest::RestClient;
pub use secret::Secret;
pub use transport::Transport;
