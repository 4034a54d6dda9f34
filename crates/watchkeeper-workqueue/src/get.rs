//! Get: the future of [`WorkQueue::get`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::sync::futures::Notified;
use tokio::task::coop;

use crate::state::{Taken, Waiting};
use crate::time::{Sleep, sleep_until};
use crate::{Item, Key, WorkQueue};

/// Completes with the next key; see [`WorkQueue::get`].
#[must_use = "a key is taken only when this is awaited"]
pub struct Get<'a, T: Key> {
    queue: &'a WorkQueue<T>,
    waiting: Waiting,
    /// Set while this waits.
    notified: Option<Pin<Box<Notified<'a>>>>,
    /// Set while this is the timekeeper.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<'a, T: Key> Get<'a, T> {
    pub(crate) fn new(queue: &'a WorkQueue<T>) -> Self {
        Self { queue, waiting: Waiting::No, notified: None, timer: None }
    }

    fn take(&mut self, context: &mut Context<'_>) -> Taken<T> {
        if let Some(mut notified) = self.notified.take() {
            // Accepts a notification, which would otherwise be passed on to another getter.
            let _ = notified.as_mut().poll(context);
        }
        self.queue.shared.update(|state, after| state.take(&mut self.waiting, after))
    }

    /// Begins to wait, and returns whether this is woken already.
    fn is_woken(&mut self, context: &mut Context<'_>) -> bool {
        let mut notified = Box::pin(self.queue.shared.getters.notified());
        if notified.as_mut().poll(context).is_ready() {
            return true;
        }
        self.notified = Some(notified);
        let Waiting::Until(at) = self.waiting else {
            self.timer = None;
            return false;
        };
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
                Taken::Nothing if this.is_woken(context) => {}
                Taken::Nothing => return Poll::Pending,
            }
        };
        budget.made_progress();
        Poll::Ready(item)
    }
}

impl<T: Key> Drop for Get<'_, T> {
    fn drop(&mut self) {
        if self.waiting != Waiting::No {
            self.notified = None;
            self.queue.shared.update(|state, after| state.leave(&mut self.waiting, after));
        }
    }
}

impl<T: Key> fmt::Debug for Get<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get").field("is_waiting", &(self.waiting != Waiting::No)).finish_non_exhaustive()
    }
}
