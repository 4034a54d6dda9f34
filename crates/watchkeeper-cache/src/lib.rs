//! The cache: what a server has, kept in this process, indexed, and told of when it changes.
//!
//! From: a [`ListWatch`](watchkeeper_core::ListWatch): the REST client, etcd, the embedded server, a script.
//! To:   readers, and handlers of changes.
//!
//! The line, a module a hop:
//!
//! ```text
//! list/watch -> reflector -> store -> delta queue -> handler
//! ```
//!
//! From the socket to the store an object is its bytes and a small head; types appear where somebody asks for
//! one.

pub mod delta;
mod expiring;
pub mod handler;
pub mod informer;
mod lock;
mod map;
pub mod metrics;
pub mod reader;
pub mod reflector;
mod sink;
pub mod source;
pub mod store;
pub mod transform;
pub mod wait;

pub use expiring::Expiring;
pub use informer::{FactoryBuilder, Informer, InformerFactory};
pub use reader::{Keep, Notification, Reader};
pub use reflector::Reflector;
pub use sink::Sink;
pub use store::{Indexer, Snapshot, Store};
