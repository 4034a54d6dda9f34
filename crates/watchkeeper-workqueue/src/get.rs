//! Get: the future of [`WorkQueue::get`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::task::coop;

use crate::deferred::Deferred;
use crate::state::Taken;
use crate::time::{Instant, Sleep, sleep_until};
use crate::waiters::Ticket;
use crate::{Item, Key, WorkQueue};

/// Completes with the next key; see [`WorkQueue::get`].
#[must_use = "a key is taken only when this is awaited"]
pub struct Get<'a, T: Key> {
    queue: &'a WorkQueue<T>,
    ticket: Option<Ticket>,
    /// Set while this is the timekeeper.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<'a, T: Key> Get<'a, T> {
    pub(crate) fn new(queue: &'a WorkQueue<T>) -> Self {
        Self { queue, ticket: None, timer: None }
    }

    fn take(&mut self, context: &Context<'_>) -> Taken<T> {
        let mut deferred = Deferred::default();
        let mut state = self.queue.shared.lock();
        state.take(&mut self.ticket, context.waker(), &mut deferred)
    }

    /// Sets the timer, and returns whether it has fired already.
    fn is_due(&mut self, at: Instant, context: &mut Context<'_>) -> bool {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if timer.deadline() != at {
            timer.as_mut().reset(at);
        }
        timer.as_mut().poll(context).is_ready()
    }
}

impl<T: Key> Future for Get<'_, T> {
    type Output = Option<Item<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // A worker that never waits still yields to other tasks.
        let budget = ready!(coop::poll_proceed(context));
        let item = loop {
            match this.take(context) {
                Taken::Key(key, slot) => break Some(Item::new(this.queue.clone(), key, slot)),
                Taken::ShutDown => break None,
                Taken::Wait(Some(at)) if this.is_due(at, context) => {}
                Taken::Wait(Some(_)) => return Poll::Pending,
                Taken::Wait(None) => {
                    this.timer = None;
                    return Poll::Pending;
                }
            }
        };
        budget.made_progress();
        Poll::Ready(item)
    }
}

impl<T: Key> Drop for Get<'_, T> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            let mut deferred = Deferred::default();
            self.queue.shared.state.lock().leave(&mut self.ticket, &mut deferred);
        }
    }
}

impl<T: Key> fmt::Debug for Get<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get").field("is_waiting", &self.ticket.is_some()).finish_non_exhaustive()
    }
}
