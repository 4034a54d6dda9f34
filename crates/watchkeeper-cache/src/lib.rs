//! Informers: local, indexed copies of server collections, with change notifications.
//!
//! Input:  a [`ListWatch`](watchkeeper_core::ListWatch): the REST client, etcd, the embedded server or a test script.
//! Output: [readers](reader) and [handlers](handler).
//!
//! Each hop is one module:
//!
//! ```text
//! list/watch -> reflector -> store -> delta queue -> handler
//! ```
//!
//! Objects travel from the socket to the store as encoded bytes with decoded metadata. They are decoded into a Rust
//! type only at the edge, by a [`Reader`].

pub mod delta;
pub mod handler;
pub mod informer;
mod lock;
pub mod metrics;
pub mod reader;
pub mod reflector;
mod sink;
pub mod source;
pub mod store;
pub mod transform;
mod ttl_store;
pub mod wait;

pub use informer::{FactoryBuilder, Informer, InformerBuilder, InformerFactory};
pub use reader::{Keep, Notification, Reader};
pub use reflector::Reflector;
pub use sink::Sink;
pub use store::{Indexer, Snapshot, Store};
pub use ttl_store::TtlStore;
