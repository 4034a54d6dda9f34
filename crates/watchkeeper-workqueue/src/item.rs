//! Item: a key that a worker holds.

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use crate::{Key, WorkQueue};

/// A key to process. No other worker receives it until this is dropped, also by a panic (`workqueue.Q1`): dropping it
/// is client-go's `Done`.
pub struct Item<T: Key> {
    queue: WorkQueue<T>,
    /// `None` only while this is dropped.
    key: Option<T>,
    slot: usize,
}

impl<T: Key> Item<T> {
    pub(crate) fn new(queue: WorkQueue<T>, key: T, slot: usize) -> Self {
        Self { queue, key: Some(key), slot }
    }

    /// Returns the key.
    pub fn key(&self) -> &T {
        self.key.as_ref().expect("the key is there until the item is dropped")
    }

    /// Returns how many times the key has failed since it was last forgotten.
    pub fn num_requeues(&self) -> u32 {
        self.queue.num_requeues(self.key())
    }

    /// Marks the key as done and forgets its failures.
    pub fn forget(self) {
        self.queue.forget(self.key());
    }

    /// Marks the key as done and [adds it again](WorkQueue::add_rate_limited) after the rate limiter's delay.
    pub fn retry(self) {
        self.queue.add_rate_limited(self.key().clone());
    }

    /// Marks the key as done, forgets its failures and adds it again after a delay.
    pub fn requeue_after(self, delay: Duration) {
        self.queue.forget(self.key());
        self.queue.add_after(self.key().clone(), delay);
    }
}

impl<T: Key> Deref for Item<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.key()
    }
}

impl<T: Key> Drop for Item<T> {
    fn drop(&mut self) {
        self.queue.shared.update(|state, after| state.finish(self.slot, self.key.take(), after));
    }
}

impl<T: Key + fmt::Debug> fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Item").field(self.key()).finish()
    }
}
