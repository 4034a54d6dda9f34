//! Drain: the future of [`WorkQueue::shut_down_with_drain`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::futures::Notified;

use crate::{Key, WorkQueue};

/// Completes when all keys are done; see [`WorkQueue::shut_down_with_drain`].
#[must_use = "the queue is shut down already, but nothing waits for the workers until this is awaited"]
pub struct Drain<'a, T: Key> {
    queue: &'a WorkQueue<T>,
    /// Receives every notification after its creation, so none between a look at the state and the first poll is lost.
    notified: Pin<Box<Notified<'a>>>,
}

impl<'a, T: Key> Drain<'a, T> {
    pub(crate) fn new(queue: &'a WorkQueue<T>) -> Self {
        Self { queue, notified: Box::pin(queue.shared.drains.notified()) }
    }
}

impl<T: Key> Future for Drain<'_, T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.queue.shared.state.lock().is_drained() {
            return Poll::Ready(());
        }
        self.notified.as_mut().poll(context)
    }
}

impl<T: Key> fmt::Debug for Drain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").finish_non_exhaustive()
    }
}
