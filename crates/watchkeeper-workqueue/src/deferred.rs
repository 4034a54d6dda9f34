//! Deferred: user code that must run after the lock is released.

use std::task::Waker;

/// Wakers to wake and keys to drop (`workqueue.Q6`). Create it before taking the lock, so that it is dropped after the
/// guard.
#[derive(Debug)]
pub(crate) struct Deferred<T> {
    pub(crate) waker: Option<Waker>,
    /// A key, and the worker's copy of it.
    pub(crate) keys: (Option<T>, Option<T>),
    /// Only shutdown wakes and drops many at once. Boxed, so that adding a key does not pay for it.
    bulk: Option<Box<(Vec<Waker>, Vec<T>)>>,
}

impl<T> Deferred<T> {
    pub(crate) fn wake_all(&mut self, wakers: impl Iterator<Item = Waker>) {
        self.bulk.get_or_insert_default().0.extend(wakers);
    }

    /// Makes room for another key.
    pub(crate) fn stash_keys(&mut self) {
        let keys = [self.keys.0.take(), self.keys.1.take()];
        self.bulk.get_or_insert_default().1.extend(keys.into_iter().flatten());
    }
}

impl<T> Default for Deferred<T> {
    fn default() -> Self {
        Self { waker: None, keys: (None, None), bulk: None }
    }
}

impl<T> Drop for Deferred<T> {
    fn drop(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        if let Some(bulk) = self.bulk.take() {
            bulk.0.into_iter().for_each(Waker::wake);
        }
    }
}
