//! Get: a worker who waits for something to do.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::task::coop;

use crate::after::After;
use crate::state::Taken;
use crate::time::{Instant, Sleep, sleep_until};
use crate::waiters::Ticket;
use crate::{Item, Key, WorkQueue};

/// The next item; see [`WorkQueue::get`].
#[must_use = "nothing is taken before it is awaited"]
pub struct Get<'a, T: Key> {
    queue: &'a WorkQueue<T>,
    ticket: Option<Ticket>,
    /// Of the one who keeps the time for all.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<'a, T: Key> Get<'a, T> {
    pub(crate) fn new(queue: &'a WorkQueue<T>) -> Self {
        Self { queue, ticket: None, timer: None }
    }

    /// Whether the time has come already.
    fn is_due(&mut self, when: Instant, context: &mut Context<'_>) -> bool {
        let timer = match &mut self.timer {
            Some(timer) => {
                if timer.deadline() != when {
                    timer.as_mut().reset(when);
                }
                timer
            }
            None => self.timer.insert(Box::pin(sleep_until(when))),
        };
        timer.as_mut().poll(context).is_ready()
    }
}

impl<T: Key> Future for Get<'_, T> {
    type Output = Option<Item<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // A worker that always finds something lets others run now and then.
        let budget = ready!(coop::poll_proceed(context));
        loop {
            let mut key = None;
            let taken = this.queue.shared.take(&mut this.ticket, context.waker(), &mut key);
            match taken {
                Taken::Key(at) => {
                    budget.made_progress();
                    return Poll::Ready(Some(Item::new(this.queue.clone(), key, at)));
                }
                Taken::Ended => {
                    budget.made_progress();
                    return Poll::Ready(None);
                }
                Taken::Wait(Some(when)) if this.is_due(when, context) => {}
                Taken::Wait(Some(_)) => return Poll::Pending,
                Taken::Wait(None) => {
                    this.timer = None;
                    return Poll::Pending;
                }
            }
        }
    }
}

/// Whoever waits no more lets the next have what he was woken for (Q3).
impl<T: Key> Drop for Get<'_, T> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            let mut after = After::default();
            self.queue.shared.state.lock().leave(&mut self.ticket, &mut after);
        }
    }
}

impl<T: Key> fmt::Debug for Get<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get").field("is_waiting", &self.ticket.is_some()).finish_non_exhaustive()
    }
}
