//! After: what is to be done once the lock is released.

use std::task::Waker;

/// Whom to wake and what to drop, which happens when this is dropped: it is code of others, and none of it runs under
/// the lock.
///
/// Who takes the lock makes it, and it is filled in where it is: returned in pieces it is copied, and that costs more
/// than all else that an add does.
#[derive(Debug)]
pub(crate) struct After<T> {
    /// To be woken.
    pub(crate) next: Option<Waker>,
    /// To be dropped: a key, and the same that was for a worker.
    pub(crate) key: Option<T>,
    pub(crate) handed: Option<T>,
    /// More of all that, at the end.
    last: Option<Box<(Vec<Waker>, Vec<T>)>>,
}

impl<T> After<T> {
    /// To be woken as well.
    pub(crate) fn wake_all(&mut self, wakers: Vec<Waker>) {
        if !wakers.is_empty() {
            self.last.get_or_insert_default().0.extend(wakers);
        }
    }

    /// The key is one of several.
    pub(crate) fn set_aside(&mut self) {
        let keys = self.key.take().into_iter().chain(self.handed.take());
        self.last.get_or_insert_default().1.extend(keys);
    }
}

impl<T> Default for After<T> {
    fn default() -> Self {
        Self { next: None, key: None, handed: None, last: None }
    }
}

impl<T> Drop for After<T> {
    fn drop(&mut self) {
        if let Some(waker) = self.next.take() {
            waker.wake();
        }
        if let Some(last) = &mut self.last {
            last.0.drain(..).for_each(Waker::wake);
        }
    }
}
