//! A client for Kubernetes API servers.
//!
//! Input: a kubeconfig, or the service account of a pod.
//! Output: requests over one transport, and their decoded responses.

pub mod auth;
mod client;
pub mod config;
mod conflict;
pub mod discovery;
pub mod dynamic;
pub mod kubeconfig;
pub mod metrics;
pub mod pager;
pub mod reload;
pub mod resource;
pub mod rest;
mod secret;
pub mod source;
pub mod streams;
pub mod transport;

pub use client::{Client, ClientError};
pub use config::{Config, ConfigError};
pub use conflict::retry_on_conflict;
pub use discovery::DiscoveryClient;
pub use rest::RestClient;
pub use secret::Secret;
pub use transport::Transport;
