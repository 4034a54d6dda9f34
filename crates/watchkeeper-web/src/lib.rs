//! Web page and HTTP API over a cluster, served from informers.
//!
//! Input: informers, and the API server that they follow.
//! Output: HTTP responses and event streams, read from memory; and a proxy to the API server.

pub mod access;
pub mod catalog;
mod envelope;
mod etag;
pub mod event;
mod fields;
pub mod freshness;
pub mod guard;
pub mod listen;
pub mod page;
pub mod proxy;
mod secret;
pub mod service;
pub mod stream;
pub mod tree;
mod undecodable;
pub mod workload;

pub use catalog::Catalog;
pub use listen::{Options, Server};
pub use service::Service;
