//! Node: what the queue knows of a key.

use crate::Priority;
use crate::list::Links;
use crate::time::Instant;

/// A key that waits, is worked on, or is delayed. One that is none of these has no node.
#[derive(Debug)]
pub(crate) struct Node<T> {
    pub(crate) key: T,
    pub(crate) hash: u64,
    /// Whose turn it has to wait for; 0 without fairness.
    pub(crate) group: u64,
    pub(crate) place: Place,
    /// When it was added first since it was handed out last. Of use while it waits, or is to be worked on again.
    pub(crate) added: Instant,
    /// When it will be added.
    pub(crate) delayed: Option<Delayed>,
    /// To its neighbours in the list of its place.
    pub(crate) links: Links,
}

/// Where a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Only delayed.
    Nowhere,
    /// In a list of those that wait.
    Ready(Priority),
    /// With a worker, since when; and what it is to be queued as when he is done (Q2).
    Processing { since: Instant, again: Option<Priority> },
}

/// A key that is to be added later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delayed {
    pub(crate) due: Due,
    pub(crate) priority: Priority,
}

/// When, and the how-manieth of all delays it is: the order of the delayed.
pub(crate) type Due = (Instant, u64);
