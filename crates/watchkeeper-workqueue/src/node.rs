//! Node: what the queue knows of a key.

use crate::Priority;
use crate::clock::Moment;
use crate::list::Links;

/// A key that waits, is worked on, or is delayed. One that is none of these has no node.
#[derive(Debug)]
pub(crate) struct Node<T> {
    /// `None` where there is no node any more.
    pub(crate) key: Option<T>,
    pub(crate) hashes: Hashes,
    pub(crate) place: Place,
    /// When it was added first since it was handed out last. Of use while it waits, or is to be worked on again.
    pub(crate) added: Moment,
    /// When it will be added.
    pub(crate) delayed: Option<Delayed>,
    /// To its neighbours in the list of its place.
    pub(crate) links: Links,
}

impl<T> Node<T> {
    pub(crate) fn new(key: T, hashes: Hashes) -> Self {
        let (place, added, links) = (Place::Nowhere, Moment::default(), Links::default());
        Self { key: Some(key), hashes, place, added, delayed: None, links }
    }

    /// Whether it is in no list, and not delayed.
    pub(crate) fn is_idle(&self) -> bool {
        self.place == Place::Nowhere && self.delayed.is_none() && self.links == Links::default()
    }
}

/// What is computed of a key before the lock is taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hashes {
    pub(crate) key: u64,
    /// Whose turn it has to wait for; 0 without fairness.
    pub(crate) group: u64,
}

/// Where a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Only delayed.
    Nowhere,
    /// In a list of those that wait.
    Ready(Priority),
    /// With a worker, since when; and what it is to be queued as when he is done (Q2).
    Processing { since: Moment, again: Option<Priority> },
}

/// A key that is to be added later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delayed {
    pub(crate) due: Due,
    pub(crate) priority: Priority,
}

/// When, and the how-manieth of all delays it is: the order of the delayed.
pub(crate) type Due = (Moment, u64);
