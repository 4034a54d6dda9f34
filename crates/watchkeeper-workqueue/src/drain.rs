//! Drain: the future of [`WorkQueue::shut_down_with_drain`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::waiters::Ticket;
use crate::{Key, WorkQueue};

/// Completes when all keys are done; see [`WorkQueue::shut_down_with_drain`].
#[must_use = "the queue is shut down already, but nothing waits for the workers until this is awaited"]
pub struct Drain<'a, T: Key> {
    queue: &'a WorkQueue<T>,
    ticket: Option<Ticket>,
}

impl<'a, T: Key> Drain<'a, T> {
    pub(crate) fn new(queue: &'a WorkQueue<T>) -> Self {
        Self { queue, ticket: None }
    }
}

impl<T: Key> Future for Drain<'_, T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.queue.shared.state.lock().drained(&mut this.ticket, context.waker()) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl<T: Key> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            self.queue.shared.state.lock().stop_draining(&mut self.ticket);
        }
    }
}

impl<T: Key> fmt::Debug for Drain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("is_waiting", &self.ticket.is_some()).finish_non_exhaustive()
    }
}
