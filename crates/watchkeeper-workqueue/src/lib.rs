//! Work queue: keys to process, each by one worker at a time.
//!
//! Input: keys that need processing, from event handlers, timers and workers that failed.
//! Output: workers, which [get](WorkQueue::get) an [`Item`] and drop it when they are done.
//!
//! Invariants:
//! - `workqueue.Q1`: no two workers hold the same key.
//! - `workqueue.Q2`: a key that is added while it is queued is handed out once; one that is added while it is
//!   processed is handed out once more, after its worker is done.
//! - `workqueue.Q3`: a key that was added is handed out, unless the queue was shut down before. Dropping a [`Get`]
//!   loses neither a key nor a wake-up.
//! - `workqueue.Q4`: of several delays of a key the earliest deadline wins.
//! - `workqueue.Q5`: keys of one [priority](Priority) are handed out in the order in which they were added; with
//!   [fairness](Builder::fair_by), groups take turns, and this holds within a group.
//! - `workqueue.Q6`: no waker is woken, no key is cloned or dropped and nothing is awaited while the lock is held.
//!
//! The queue has no task of its own: one of the waiting workers sleeps until the first deadline, for all of them.
//!
//! ```
//! use watchkeeper_workqueue::WorkQueue;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! # runtime.block_on(async {
//! let queue = WorkQueue::new();
//! queue.add("shop/web");
//! queue.add("shop/db");
//! queue.add("shop/web"); // already queued
//! queue.shut_down(); // refuses new keys; workers still receive the queued ones
//!
//! let mut seen = Vec::new();
//! while let Some(item) = queue.get().await {
//!     match reconcile(&item) {
//!         Ok(()) => item.forget(), // resets the backoff of this key
//!         Err(_) => item.retry(),  // adds it again after a delay that grows with each failure
//!     }
//!     # seen.push(1);
//! }
//! # assert_eq!(seen.len(), 2);
//! # fn reconcile(_: &str) -> Result<(), ()> { Ok(()) }
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```

mod builder;
mod drain;
mod get;
mod item;
pub mod limit;
mod metrics;
mod priority;
mod queue;
mod ready;
mod state;

/// The lock of the queue; the interleaving tests have another.
mod lock {
    pub(crate) use parking_lot::{Mutex, MutexGuard as Held};
}

/// The clock of the queue; the interleaving tests have another.
mod time {
    pub(crate) use tokio::time::{Instant, Sleep, sleep_until};
}

pub use builder::Builder;
pub use drain::Drain;
pub use get::Get;
pub use item::Item;
pub use limit::RateLimiter;
pub use priority::{AddOpts, Priority};
pub use queue::{Key, WorkQueue};
