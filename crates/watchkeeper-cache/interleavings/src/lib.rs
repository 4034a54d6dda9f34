//! The cache with a lock that shuttle schedules.
//!
//! Input:  the sources of `watchkeeper-cache`, except for `lock.rs`.
//! Output: the tests of this package, which run them in many interleavings.
//!
//! Threads are switched where a lock is taken and where a future waits. Wakeups are tokio's, as in production: they do not
//! block, and so need no scheduling.

#[path = "../../src/delta/mod.rs"]
pub mod delta;
#[path = "../../src/handler/mod.rs"]
pub mod handler;
#[path = "../../src/informer/mod.rs"]
pub mod informer;
mod lock;
#[path = "../../src/metrics/mod.rs"]
pub mod metrics;
#[path = "../../src/reader/mod.rs"]
pub mod reader;
#[path = "../../src/reflector/mod.rs"]
pub mod reflector;
#[path = "../../src/sink.rs"]
mod sink;
#[path = "../../src/source/mod.rs"]
pub mod source;
#[path = "../../src/store/mod.rs"]
pub mod store;
#[path = "../../src/transform.rs"]
pub mod transform;
#[path = "../../src/ttl_store.rs"]
mod ttl_store;
#[path = "../../src/wait/mod.rs"]
pub mod wait;

pub use informer::{FactoryBuilder, Informer, InformerBuilder, InformerFactory};
pub use reader::{Keep, Notification, Reader};
pub use reflector::Reflector;
pub use sink::Sink;
pub use store::{Indexer, Snapshot, Store};
pub use ttl_store::TtlStore;
