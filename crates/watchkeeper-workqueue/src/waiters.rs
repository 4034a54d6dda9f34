//! Waiters: those who wait, in the order in which they came.

use std::collections::BTreeMap;
use std::task::Waker;

/// Wakers by the ticket of their owner.
///
/// W1: a waiter that was woken is not in here until he waits again; whoever is woken and leaves without taking
/// what there is wakes the next.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    waiting: BTreeMap<Ticket, Waker>,
    last: u64,
}

/// Tells one waiter from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

impl Waiters {
    /// Waits, at the end of the row or at the place that he has.
    pub(crate) fn wait(&mut self, ticket: &mut Option<Ticket>, waker: &Waker) -> Ticket {
        let ticket = *ticket.get_or_insert_with(|| {
            self.last += 1;
            Ticket(self.last)
        });
        match self.waiting.get_mut(&ticket) {
            Some(known) => known.clone_from(waker),
            None => drop(self.waiting.insert(ticket, waker.clone())),
        }
        ticket
    }

    /// Waits no more. False if he did not: he was woken.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> bool {
        self.waiting.remove(&ticket).is_some()
    }

    /// The waker of the one who waits longest, who waits no more.
    pub(crate) fn next(&mut self) -> Option<Waker> {
        self.waiting.pop_first().map(|(_, waker)| waker)
    }

    /// The waker of this one, who waits no more.
    pub(crate) fn of(&mut self, ticket: Ticket) -> Option<Waker> {
        self.waiting.remove(&ticket)
    }

    /// The wakers of all, who wait no more.
    pub(crate) fn all(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.waiting).into_values().collect()
    }
}
