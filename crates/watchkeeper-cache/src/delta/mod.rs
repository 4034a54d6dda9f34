//! Delta queue: what has happened to each key since its consumer last looked.
//!
//! From: the store, or whoever has objects that change.
//! To:   one handler, or whoever pops.
//!
//! - Q1: keys come in the order of the first change to them that is still pending.
//! - Q2: a key has at most two pending deltas: that an object is gone, and that another has taken its place.
//! - Q3: a key that has changed is always reported. An object that was added and deleted before the consumer looked
//!   is *transient*: it is reported as one [`Delta::Deleted`], unless another object has its key by then, whose
//!   `Added` reports the key. A consumer that keeps a copy and nothing else can [skip](Transient::Skip) transient
//!   objects.
//! - Q4: `old` is what the consumer last received, not what came between. Of a transient object the consumer has
//!   received nothing: there `old` is its newest state before the deletion.
//!
//! The queue of a consumer that never pops grows by an entry for each name that comes and goes, as the buffer of a
//! client-go listener does. One that skips transient objects holds no more than what its consumer knows and what there
//! is.

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
        /// What the consumer last received; for a [transient](Transient) object, its newest state before the deletion.
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

/// What a queue does with an object that was added and deleted before its consumer looked (Q3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transient {
    /// Reports it as one [`Delta::Deleted`]: a controller is called for every key, as with client-go.
    #[default]
    Report,
    /// Does not report it. For consumers that keep a copy of the objects, such as a list on a screen; the memory of
    /// the queue is then bounded by what the consumer knows and what there is.
    Skip,
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
        self.metadata.uid() == other.metadata.uid()
    }
}
