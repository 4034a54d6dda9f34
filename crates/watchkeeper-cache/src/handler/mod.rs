//! Handlers: who hears of changes.
//!
//! From: the store.
//! To:   a loop of one's own ([`Subscription`]), or a function that is called ([`Handler`]).
//!
//! - H1: a handler that is slow holds at most two pending changes for each key that has changed, and slows nobody.
//! - H2: a handler that panics is reported, and goes on with the next change; nobody else notices.
//! - H3: dropping a subscription ends it. A handler stays registered until it is removed or the informer ends.

mod events;
mod figures;
mod filter;
mod run;
mod subscription;

pub use events::{EveryEvent, Heard};
pub use figures::Figures;
pub use filter::Filter;
pub(crate) use run::message;
pub use run::{Handler, HandlerPanic};
pub use subscription::{Resync, Subscription, SubscriptionOptions};
