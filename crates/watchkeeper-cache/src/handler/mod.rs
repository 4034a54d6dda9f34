//! Handlers: receivers of changes.
//!
//! Input:  the store.
//! Output: a callback ([`Handler`]), or the caller's own loop ([`Subscription`], [`RawEvents`]).
//!
//! Invariants:
//! - `handler.H1`: a slow handler has at most two pending deltas for each key, and delays neither the reflector nor other
//!   handlers.
//! - `handler.H2`: a panic in a handler is reported; the handler continues with the next change, and others are not
//!   affected.
//! - `handler.H3`: dropping a subscription unsubscribes. A handler stays registered until it is removed or the informer
//!   stops.

mod filter;
mod raw_events;
mod run;
mod stats;
mod subscription;

pub use filter::Filter;
pub use raw_events::{RawEvent, RawEvents};
pub(crate) use run::message;
pub use run::{Handler, HandlerOutput, HandlerPanic};
pub use stats::HandlerStats;
pub use subscription::{Resync, Subscription, SubscriptionOptions};
