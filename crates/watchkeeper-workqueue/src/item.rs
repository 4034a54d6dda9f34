//! Item: a key that a worker has.

use std::fmt;

use std::ops::Deref;
use std::time::Duration;

use crate::after::After;
use crate::turns::Side;
use crate::{Key, WorkQueue};

/// A key to work on. Nobody else has it before this is dropped, however that comes about (Q1).
pub struct Item<T: Key> {
    queue: WorkQueue<T>,
    /// There until it is dropped.
    key: Option<T>,
    at: usize,
}

impl<T: Key> Item<T> {
    pub(crate) fn new(queue: WorkQueue<T>, key: Option<T>, at: usize) -> Self {
        Self { queue, key, at }
    }

    /// The key.
    pub fn key(&self) -> &T {
        self.key.as_ref().expect("it is there until this is dropped")
    }

    /// How often it has failed.
    pub fn failures(&self) -> u32 {
        self.queue.failures(self.key())
    }

    /// It has worked: done, and its failures are forgotten.
    pub fn forget(self) {
        self.queue.forget(self.key());
    }

    /// It has failed: done, and [again](WorkQueue::add_limited) after a while.
    pub fn retry(self) {
        self.queue.add_limited(self.key().clone());
    }

    /// It has worked: done, its failures are forgotten, and it is wanted again after so long.
    pub fn again_after(self, delay: Duration) {
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
        let mut after = After::default();
        let shared = &self.queue.shared;
        let mut state = shared.lock(Side::Take);
        state.finish(self.at, &mut self.key, shared.turns.is_contended(), &mut after);
    }
}

impl<T: Key + fmt::Debug> fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Item").field(self.key()).finish()
    }
}
