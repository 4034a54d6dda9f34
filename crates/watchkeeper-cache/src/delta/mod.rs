//! Delta queue: what has happened to each key since its consumer last looked.
//!
//! From: the store, or whoever has objects that change.
//! To:   one handler, or whoever pops.
//!
//! - Q1: keys come in the order in which the first thing happened to them that is still pending.
//! - Q2: a key has at most two pending deltas: that an object is gone, and that another has taken its place.
//! - Q3: what the consumer never saw come, it does not see go: an addition and its deletion cancel out.
//! - Q4: `old` is what the consumer last saw, and not what came between.

mod pending;
mod queue;
mod tracking;

pub use queue::DeltaQueue;
pub use tracking::TrackingQueue;

use std::sync::Arc;

use watchkeeper_core::Object;

/// What has happened to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta<T> {
    /// It is there.
    Added {
        /// The object.
        new: T,
        /// Whether it was there before the consumer began to look.
        initial: bool,
    },
    /// It has changed.
    Updated {
        /// What the consumer last saw.
        old: T,
        /// What it is now.
        new: T,
    },
    /// It is gone.
    Deleted {
        /// What the consumer last saw.
        old: T,
        /// Its last state; `None` if it went unseen: a list did not have it any more.
        last: Option<T>,
    },
    /// Nothing has happened: it is time to look at it again.
    Resync(T),
}

impl<T> Delta<T> {
    pub(crate) fn missed(old: T) -> Self {
        Self::Deleted { old, last: None }
    }

    /// The object as it is now, or as it was last seen.
    pub fn newest(&self) -> &T {
        match self {
            Self::Added { new, .. } | Self::Updated { new, .. } | Self::Resync(new) => new,
            Self::Deleted { old, last } => last.as_ref().unwrap_or(old),
        }
    }
}

/// Something that can be replaced by another of the same key.
pub trait Incarnation {
    /// Whether both are states of one object. Objects that have no identity but their key always are.
    fn is_same_as(&self, _other: &Self) -> bool {
        true
    }
}

impl Incarnation for Arc<Object> {
    fn is_same_as(&self, other: &Self) -> bool {
        self.head.uid() == other.head.uid()
    }
}
