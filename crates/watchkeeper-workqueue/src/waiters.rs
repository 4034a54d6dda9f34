//! Waiters: the wakers of waiting futures, in the order in which they began to wait.

use std::collections::BTreeMap;
use std::task::Waker;

/// Wakers by the ticket of their future. A woken future is removed until it waits again.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    waiting: BTreeMap<Ticket, Waker>,
    last: u64,
}

/// Identifies a waiting future, and its place in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

impl Waiters {
    /// Registers a future, at the end or at the place that it has already.
    pub(crate) fn wait(&mut self, ticket: &mut Option<Ticket>, waker: &Waker) -> Ticket {
        let ticket = *ticket.get_or_insert_with(|| {
            self.last += 1;
            Ticket(self.last)
        });
        self.waiting
            .entry(ticket)
            .and_modify(|known| known.clone_from(waker))
            .or_insert_with(|| waker.clone());
        ticket
    }

    /// Removes a future; `None` if it was woken.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> Option<Waker> {
        self.waiting.remove(&ticket)
    }

    /// Removes the future that has waited longest.
    pub(crate) fn next(&mut self) -> Option<Waker> {
        self.waiting.pop_first().map(|(_, waker)| waker)
    }

    /// Removes all futures.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.waiting).into_values()
    }
}
