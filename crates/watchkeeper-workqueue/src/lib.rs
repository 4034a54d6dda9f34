//! Work queue: keys that want to be worked on, handed out so that nothing is done twice at once and nothing is
//! forgotten.
//!
//! From: whoever learns that something about a key has changed: a handler, a timer, a worker that failed.
//! To:   workers, who [get](WorkQueue::get) an [`Item`] and are done with it when they drop it.
//!
//! - Q1: no key is with two workers at once.
//! - Q2: a key that is added while it waits is handed out once; one that is added while it is worked on is handed
//!   out once more, when its worker is done.
//! - Q3: a key that was added is handed out, unless the queue was shut down before. Who stops waiting for an item
//!   half-way takes none with him.
//! - Q4: of several delays of a key the earliest counts.
//! - Q5: of two keys of the same [priority](Priority), the one that was added first is handed out first; with
//!   [fairness](Builder::fair_by), groups take turns and this holds within a group.
//!
//! The queue has no task of its own: a worker that waits keeps the time for all of them.
//!
//! ```
//! use watchkeeper_workqueue::WorkQueue;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! # runtime.block_on(async {
//! let queue = WorkQueue::new();
//! queue.add("shop/web");
//! queue.add("shop/db");
//! queue.add("shop/web"); // waits already
//! queue.shut_down(); // nothing is taken any more; what waits is still handed out
//!
//! let mut seen = Vec::new();
//! while let Some(item) = queue.get().await {
//!     match reconcile(&item) {
//!         Ok(()) => item.forget(), // the next failure is its first
//!         Err(_) => item.retry(),  // after a while that grows with each failure
//!     }
//!     # seen.push(1);
//! }
//! # assert_eq!(seen.len(), 2);
//! # fn reconcile(_: &str) -> Result<(), ()> { Ok(()) }
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```

mod after;
mod builder;
mod clock;
mod drain;
mod get;
mod item;
mod key;
pub mod limit;
mod list;
mod lock;
mod metrics;
mod node;
mod nodes;
mod places;
mod priority;
mod queue;
mod ready;
mod resting;
mod state;
mod time;
mod turns;
mod waiters;

pub use builder::Builder;
pub use drain::Drain;
pub use get::Get;
pub use item::Item;
pub use key::Key;
pub use limit::RateLimiter;
pub use priority::Priority;
pub use queue::WorkQueue;
