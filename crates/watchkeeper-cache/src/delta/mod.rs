//! Delta queue: the changes of each key that its consumer has not received yet, coalesced.
//!
//! Input:  the store, or any other producer of changes.
//! Output: one handler, or any other consumer.
//!
//! Invariants:
//! - `delta.Q1`: keys are delivered in the order of their oldest pending change.
//! - `delta.Q2`: a key has at most two pending deltas: the deletion of one object, and the addition of its successor.
//! - `delta.Q3`: a key that has changed is always reported. An object that was added and deleted before the consumer
//!   received it is *transient*: it is reported as one [`Delta::Deleted`], unless its key has been taken by another
//!   object, whose `Added` reports the key. A consumer that only mirrors the objects can [skip](Transient::Skip)
//!   transient ones.
//! - `delta.Q4`: `old` is the state that the consumer last received, not an intermediate one. For a transient object,
//!   of which the consumer has received nothing, `old` is the newest state before the deletion.
//!
//! If the consumer never pops, the queue grows by one entry for each key that ever changed, as the buffer of a client-go
//! listener does. A queue that skips transient objects is bounded by the objects that the consumer has received plus
//! those that exist.

mod pending;
mod queue;
mod tracking;

pub use queue::DeltaQueue;
pub use tracking::TrackingQueue;

use std::sync::Arc;

use watchkeeper_core::Object;

/// A change of one object, relative to the state that the consumer last received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta<T> {
    /// The object exists, and the consumer has not received it before.
    Added {
        /// The object.
        new: T,
        /// Whether the object is part of the initial state rather than newly created.
        initial: bool,
    },
    /// The object has changed.
    Updated {
        /// The state that the consumer last received.
        old: T,
        /// The current state.
        new: T,
    },
    /// The object was deleted.
    Deleted {
        /// The state that the consumer last received; for a [transient](Transient) object, its newest state before the
        /// deletion.
        old: T,
        /// The final state; `None` if the deletion was missed and noticed by a relist (client-go's
        /// `DeletedFinalStateUnknown`).
        last: Option<T>,
    },
    /// The object has not changed, and is due to be processed again.
    Resync(T),
}

impl<T> Delta<T> {
    pub(crate) fn missed(old: T) -> Self {
        Self::Deleted { old, last: None }
    }

    /// Returns the newest state in this delta: the current one, or the last known one of a deleted object.
    pub fn newest(&self) -> &T {
        match self {
            Self::Added { new, .. } | Self::Updated { new, .. } | Self::Resync(new) => new,
            Self::Deleted { old, last } => last.as_ref().unwrap_or(old),
        }
    }
}

/// The treatment of an object that was added and deleted before the consumer received it (`delta.Q3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transient {
    /// Reports it as one [`Delta::Deleted`]. A controller is then called for every key that changed, as with client-go.
    #[default]
    Report,
    /// Drops it. For consumers that mirror the objects, such as a list on a screen; it bounds the memory of the queue
    /// by the objects that the consumer has received plus those that exist.
    Skip,
}

/// A state of an object that can be distinguished from that of another object with the same key.
pub trait Incarnation {
    /// Returns whether both are states of one object. The default is for objects that have no identity but their key.
    fn same_uid(&self, _other: &Self) -> bool {
        true
    }
}

impl Incarnation for Arc<Object> {
    fn same_uid(&self, other: &Self) -> bool {
        self.metadata.uid() == other.metadata.uid()
    }
}
