//! Over the cache: how objects belong together, for people and programs to look at.
//!
//! From: informers, and the API server that they follow.
//! To:   answers that are read from memory.

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
pub mod workload;

pub use catalog::Catalog;
pub use listen::{Options, Server};
pub use service::Service;
