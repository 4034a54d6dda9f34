//! The work queue with locks that shuttle schedules, and with a time that passes when it is told to.
//!
//! From: the files of `watchkeeper-workqueue`, all but `lock.rs` and `time.rs`.
//! To:   the tests of this package, which run them in many interleavings.
//!
//! Threads change where a lock is taken or released, and where a future waits. Limiters have locks of their own,
//! which they hold for no longer than a look at a number: those are as in life.

#[path = "../../src/after.rs"]
mod after;
#[path = "../../src/builder.rs"]
mod builder;
#[path = "../../src/clock.rs"]
mod clock;
#[path = "../../src/drain.rs"]
mod drain;
#[path = "../../src/get.rs"]
mod get;
#[path = "../../src/item.rs"]
mod item;
#[path = "../../src/key.rs"]
mod key;
#[path = "../../src/limit/mod.rs"]
pub mod limit;
#[path = "../../src/list.rs"]
mod list;
#[path = "../../../watchkeeper-cache/interleavings/src/lock.rs"]
mod lock;
#[path = "../../src/metrics.rs"]
mod metrics;
#[path = "../../src/node.rs"]
mod node;
#[path = "../../src/nodes.rs"]
mod nodes;
#[path = "../../src/places.rs"]
mod places;
#[path = "../../src/priority.rs"]
mod priority;
#[path = "../../src/queue.rs"]
mod queue;
#[path = "../../src/ready.rs"]
mod ready;
#[path = "../../src/resting.rs"]
mod resting;
#[path = "../../src/state.rs"]
mod state;
pub mod time;
#[path = "../../src/turns.rs"]
mod turns;
#[path = "../../src/waiters.rs"]
mod waiters;

pub use builder::Builder;
pub use drain::Drain;
pub use get::Get;
pub use item::Item;
pub use key::Key;
pub use limit::RateLimiter;
pub use priority::Priority;
pub use queue::WorkQueue;
