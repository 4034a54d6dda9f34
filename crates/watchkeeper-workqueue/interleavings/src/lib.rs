//! The work queue with locks that shuttle schedules, and with a clock that tests advance.
//!
//! Input: the sources of `watchkeeper-workqueue`, except the modules `lock` and `time`.
//! Output: the tests of this package, which run them in many interleavings.
//!
//! Threads switch where a lock is taken or released, and where a future waits. Rate limiters have locks of their own,
//! which are held only to read or write a number: those are real locks here too.

#[path = "../../src/builder.rs"]
mod builder;
#[path = "../../src/drain.rs"]
mod drain;
#[path = "../../src/get.rs"]
mod get;
#[path = "../../src/item.rs"]
mod item;
#[path = "../../src/limit.rs"]
pub mod limit;
#[path = "../../../watchkeeper-cache/interleavings/src/lock.rs"]
mod lock;
#[path = "../../src/metrics.rs"]
mod metrics;
#[path = "../../src/priority.rs"]
mod priority;
#[path = "../../src/queue.rs"]
mod queue;
#[path = "../../src/ready.rs"]
mod ready;
#[path = "../../src/state.rs"]
mod state;
pub mod time;

pub use builder::Builder;
pub use drain::Drain;
pub use get::Get;
pub use item::Item;
pub use limit::RateLimiter;
pub use priority::{AddOpts, Priority};
pub use queue::{Key, WorkQueue};
