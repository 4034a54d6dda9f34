//! Node: what the queue knows of a key.

use crate::after::After;
use crate::clock::Moment;
use crate::list::Links;
use crate::{Key, Priority};

/// A key that waits, is worked on, is delayed, or has been lately.
///
/// In the order of who needs what: those who take keys the first half, which is a cache line, and those who add them
/// all of it. A line that another processor has is what costs most here.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Node<T> {
    /// To its neighbours in the list of its place.
    pub(crate) links: Links,
    pub(crate) place: Place,
    /// When it was added first since it was handed out last. Of use while it waits, or is to be worked on again.
    pub(crate) added: Moment,
    /// The key for the worker, who brings it back. `None` while he has it, and where there is no node any more.
    pub(crate) handed: Option<T>,
    pub(crate) hash: u32,
    /// `None` where there is no node any more.
    pub(crate) key: Option<T>,
    pub(crate) group: u64,
    /// When it will be added.
    pub(crate) delayed: Option<Delayed>,
}

impl<T: Key> Node<T> {
    pub(crate) fn new(key: T, hashes: Hashes) -> Self {
        let (place, added, links) = (Place::Nowhere, Moment::default(), Links::default());
        let handed = Some(key.clone());
        let Hashes { key: hash, group } = hashes;
        Self { links, place, added, handed, hash, key: Some(key), group, delayed: None }
    }

    /// Becomes the node of another key.
    pub(crate) fn become_of(&mut self, key: T, hashes: Hashes, after: &mut After<T>) {
        after.handed = self.handed.replace(key.clone());
        after.key = self.key.replace(key);
        (self.hash, self.group) = (hashes.key, hashes.group);
    }
}

impl<T> Node<T> {
    /// Whether it is in no list, and not delayed.
    pub(crate) fn is_idle(&self) -> bool {
        self.place == Place::Nowhere && self.delayed.is_none() && self.links == Links::default()
    }
}

/// What is computed of a key before the lock is taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hashes {
    pub(crate) key: u32,
    /// Whose turn it has to wait for; 0 without fairness.
    pub(crate) group: u64,
}

/// Where a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Only delayed.
    Nowhere,
    /// Done.
    Resting,
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
