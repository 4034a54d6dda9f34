//! State: all of a queue, behind its lock.

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

use crate::after::After;
use crate::clock::Clock;
use crate::list::List;
use crate::metrics::Metrics;
use crate::node::{Delayed, Due, Hashes, Place};
use crate::nodes::Nodes;
use crate::places::Places;
use crate::ready::Ready;
use crate::resting::Resting;
use crate::time::Instant;
use crate::waiters::{Ticket, Waiters};
use crate::{Key, Priority};

/// The rules of the queue. Nothing in here waits, wakes or drops a key: that comes [after](After) the lock is released.
#[derive(Debug)]
pub(crate) struct State<T> {
    nodes: Nodes<T>,
    /// Of the nodes, by their keys; of none once nothing is taken any more, when nobody looks for one.
    by_key: Places,
    ready: Ready,
    /// With a worker, from the one who has been longest.
    processing: List,
    /// How many of those are to be queued again (Q2).
    again: usize,
    resting: Resting,
    delayed: BTreeMap<Due, usize>,
    /// How many delays there have been.
    delays: u64,
    phase: Phase,
    getters: Waiters,
    /// The getter who wakes up when the first delay has passed.
    keeper: Option<Ticket>,
    drainers: Waiters,
    clock: Clock,
    metrics: Option<Metrics>,
}

/// Whether more is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Draining,
    Closed,
}

/// What a getter gets.
#[derive(Debug)]
pub(crate) enum Taken {
    /// A key; the place of its node.
    Key(usize),
    /// Nothing more, ever.
    Ended,
    /// Nothing yet. Whoever has a time here looks again then.
    Wait(Option<Instant>),
}

impl<T: Key> State<T> {
    pub(crate) fn new(ready: Ready, metrics: Option<Metrics>) -> Self {
        Self {
            nodes: Nodes::default(),
            by_key: Places::default(),
            ready,
            processing: List::default(),
            again: 0,
            resting: Resting::default(),
            delayed: BTreeMap::new(),
            delays: 0,
            phase: Phase::Open,
            getters: Waiters::default(),
            keeper: None,
            drainers: Waiters::default(),
            clock: Clock::new(metrics.is_some()),
            metrics,
        }
    }

    /// Adds a key (Q2).
    pub(crate) fn add(&mut self, key: T, hashes: Hashes, priority: Priority, after: &mut After<T>) {
        if self.phase != Phase::Open {
            after.key = Some(key);
            return;
        }
        self.clock.want(priority != Priority::default());
        let at = self.node(key, hashes, after);
        if self.enqueue(at, priority) {
            after.next = self.getters.next();
        }
    }

    /// Adds a key later, unless it is added earlier by another delay (Q4).
    pub(crate) fn add_at(
        &mut self,
        key: T,
        hashes: Hashes,
        when: Instant,
        priority: Priority,
        after: &mut After<T>,
    ) {
        let when = self.clock.moment(when);
        if self.phase != Phase::Open {
            after.key = Some(key);
            return;
        }
        if let Some(metrics) = &self.metrics {
            metrics.retried();
        }
        let at = self.node(key, hashes, after);
        self.delays += 1;
        let mut delayed = Delayed { due: (when, self.delays), priority };
        if let Some(known) = self.nodes[at].delayed {
            delayed.priority = priority.max(known.priority);
            if known.due.0 <= when {
                delayed.due = known.due;
            }
            self.delayed.remove(&known.due);
        }
        self.nodes[at].delayed = Some(delayed);
        self.delayed.insert(delayed.due, at);
        let is_first = self.delayed.first_key_value().is_some_and(|(due, _)| *due == delayed.due);
        if is_first {
            after.next = match self.keeper {
                Some(keeper) => self.getters.of(keeper),
                None => self.getters.next(),
            };
        }
    }

    /// A getter asks. He waits, at his place in the row, if there is nothing.
    pub(crate) fn take(
        &mut self,
        ticket: &mut Option<Ticket>,
        waker: &Waker,
        key: &mut Option<T>,
        after: &mut After<T>,
    ) -> Taken {
        self.undelay();
        if let Some(at) = self.ready.pop(&mut self.nodes) {
            self.begin(at, key);
            self.leave(ticket, after);
            return Taken::Key(at);
        }
        if self.has_ended() {
            self.leave(ticket, after);
            return Taken::Ended;
        }
        let ticket = self.getters.wait(ticket, waker);
        let is_keeper = self.keeper.is_none_or(|keeper| keeper == ticket);
        let until =
            self.delayed.first_key_value().filter(|_| is_keeper).map(|(due, _)| self.clock.instant(due.0));
        if is_keeper {
            self.keeper = until.map(|_| ticket);
        }
        Taken::Wait(until)
    }

    /// A getter waits no more: he has something, or does not want it (W1).
    pub(crate) fn leave(&mut self, ticket: &mut Option<Ticket>, after: &mut After<T>) {
        if let Some(ticket) = ticket.take() {
            self.getters.leave(ticket);
            if self.keeper == Some(ticket) {
                self.keeper = None;
            }
        }
        if self.has_ended() {
            self.settle(after);
            return;
        }
        let wants_keeper = self.keeper.is_none() && !self.delayed.is_empty();
        if wants_keeper || !self.ready.is_empty() {
            after.next = self.getters.next();
        }
    }

    /// A worker is done, and brings back the key, which is remembered if others are busy with the queue.
    pub(crate) fn finish(&mut self, at: usize, key: &mut Option<T>, is_busy: bool, after: &mut After<T>) {
        self.processing.remove(&mut self.nodes, at);
        let node = &mut self.nodes[at];
        std::mem::swap(key, &mut node.handed);
        let Place::Processing { since, again } = std::mem::replace(&mut node.place, Place::Nowhere) else {
            debug_assert!(false, "only what is worked on is done");
            return;
        };
        if let Some(metrics) = &self.metrics {
            metrics.finished(self.clock.now().since(since));
        }
        if let Some(priority) = again {
            self.again -= 1;
            let node = &mut self.nodes[at];
            node.place = Place::Ready(priority);
            self.ready.push(&mut self.nodes, at, priority);
            after.next = self.getters.next();
            return;
        }
        self.retire(at, is_busy, after);
        self.settle(after);
    }

    /// Takes no more keys. What is delayed is forgotten.
    pub(crate) fn close(&mut self, is_drained: bool, after: &mut After<T>) {
        self.phase = match (self.phase, is_drained) {
            (Phase::Open | Phase::Draining, true) => Phase::Draining,
            _ => Phase::Closed,
        };
        self.by_key.clear();
        self.disturb(after);
        for (_, at) in std::mem::take(&mut self.delayed) {
            self.nodes[at].delayed = None;
            if self.nodes[at].place == Place::Nowhere {
                self.discard(at, after);
            }
        }
        self.settle(after);
    }

    /// Takes no more keys, and forgets all that nobody works on.
    pub(crate) fn abandon(&mut self, after: &mut After<T>) {
        self.by_key.clear();
        self.disturb(after);
        while let Some(at) = self.ready.pop(&mut self.nodes) {
            self.nodes[at].place = Place::Nowhere;
        }
        self.again = 0;
        self.delayed.clear();
        let mut waiting = Vec::new();
        for (at, node) in self.nodes.iter_mut() {
            node.delayed = None;
            match &mut node.place {
                Place::Processing { again, .. } => *again = None,
                Place::Nowhere | Place::Resting | Place::Ready(_) => waiting.push(at),
            }
        }
        for at in waiting {
            self.discard(at, after);
        }
        self.phase = Phase::Closed;
        if let Some(metrics) = &self.metrics {
            metrics.abandoned();
        }
        self.settle(after);
    }

    /// Waits until nothing is left to do; true if so, or if nobody drains any more.
    pub(crate) fn drained(&mut self, ticket: &mut Option<Ticket>, waker: &Waker) -> bool {
        if self.phase != Phase::Draining || self.is_idle() {
            self.stop_draining(ticket);
            return true;
        }
        self.drainers.wait(ticket, waker);
        false
    }

    pub(crate) fn stop_draining(&mut self, ticket: &mut Option<Ticket>) {
        if let Some(ticket) = ticket.take() {
            self.drainers.leave(ticket);
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// How many wait to be handed out, but for those whose delay has passed.
    pub(crate) fn waiting(&self) -> usize {
        self.ready.len()
    }

    /// How many wait to be handed out.
    pub(crate) fn len(&mut self) -> usize {
        self.undelay();
        self.ready.len()
    }

    /// For how long those that are worked on have been, from the longest.
    pub(crate) fn running(&self) -> impl Iterator<Item = Duration> {
        let now = self.clock.now();
        self.processing.iter(&self.nodes).map(move |node| match node.place {
            Place::Processing { since, .. } => now.since(since),
            Place::Nowhere | Place::Resting | Place::Ready(_) => Duration::ZERO,
        })
    }

    pub(crate) fn metrics(&self) -> Option<&Metrics> {
        self.metrics.as_ref()
    }

    /// The node of a key, which does not rest any more.
    fn node(&mut self, key: T, hashes: Hashes, after: &mut After<T>) -> usize {
        if let Some(at) = self.by_key.find(hashes.key, |at| *self.nodes.key(at) == key) {
            if self.nodes[at].place == Place::Resting {
                self.resting.remove(&mut self.nodes, at);
                self.nodes[at].place = Place::Nowhere;
            }
            after.key = Some(key);
            return at;
        }
        let at = match self.resting.pop(&mut self.nodes) {
            Some(at) => {
                self.by_key.remove(self.nodes[at].hash, at);
                self.nodes[at].place = Place::Nowhere;
                self.nodes[at].become_of(key, hashes, after);
                at
            }
            None => self.nodes.insert(key, hashes),
        };
        self.by_key.insert(hashes.key, at);
        at
    }

    /// Lets a node rest that is nowhere and not delayed, or removes it.
    fn retire(&mut self, at: usize, is_busy: bool, after: &mut After<T>) {
        // Whether it is delayed stands where those who take keys do not look otherwise.
        if !self.delayed.is_empty() && self.nodes[at].delayed.is_some() {
            return;
        }
        let is_quiet = self.ready.is_empty() && !is_busy;
        if is_quiet && let Some(oldest) = self.resting.pop(&mut self.nodes) {
            // Not all at once: where keys come in bursts, those who add the next want these nodes.
            self.nodes[oldest].place = Place::Nowhere;
            self.discard(oldest, after);
        }
        if is_quiet || self.phase != Phase::Open || self.resting.is_full() {
            self.remove(at, after);
            return;
        }
        self.nodes[at].place = Place::Resting;
        self.resting.push(&mut self.nodes, at);
    }

    /// Removes all that rest.
    fn disturb(&mut self, after: &mut After<T>) {
        while let Some(at) = self.resting.pop(&mut self.nodes) {
            self.nodes[at].place = Place::Nowhere;
            self.discard(at, after);
        }
    }

    /// Removes one of several.
    fn discard(&mut self, at: usize, after: &mut After<T>) {
        self.remove(at, after);
        after.set_aside();
    }

    fn remove(&mut self, at: usize, after: &mut After<T>) {
        self.by_key.remove(self.nodes[at].hash, at);
        self.nodes.remove(at, after);
    }

    /// Queues a node, or sees to it that it is queued when its worker is done. Whether there is one more to hand
    /// out.
    fn enqueue(&mut self, at: usize, priority: Priority) -> bool {
        let node = &mut self.nodes[at];
        match &mut node.place {
            Place::Ready(known) if priority > *known => {
                let known = std::mem::replace(known, priority);
                self.ready.remove(&mut self.nodes, at, known);
                self.ready.push(&mut self.nodes, at, priority);
                return false;
            }
            Place::Ready(_) => return false,
            Place::Processing { again: Some(known), .. } => {
                *known = priority.max(*known);
                return false;
            }
            Place::Processing { again, .. } => {
                *again = Some(priority);
                self.again += 1;
            }
            Place::Nowhere | Place::Resting => node.place = Place::Ready(priority),
        }
        node.added = self.clock.now();
        if let Some(metrics) = &self.metrics {
            metrics.added();
        }
        if node.place != Place::Ready(priority) {
            return false;
        }
        self.ready.push(&mut self.nodes, at, priority);
        true
    }

    /// Gives a node to a worker, with its key.
    fn begin(&mut self, at: usize, key: &mut Option<T>) {
        let since = self.clock.now();
        let node = &mut self.nodes[at];
        node.place = Place::Processing { since, again: None };
        if let Some(metrics) = &self.metrics {
            metrics.begun(since.since(node.added));
        }
        std::mem::swap(key, &mut node.handed);
        self.processing.push(&mut self.nodes, at);
    }

    /// Queues what has been delayed for long enough. Nobody is woken: the keeper of the time comes by himself, and
    /// who takes the first wakes somebody for the next.
    fn undelay(&mut self) {
        if self.delayed.is_empty() {
            return;
        }
        let now = self.clock.moment(Instant::now());
        while let Some(first) = self.delayed.first_entry().filter(|first| first.key().0 <= now) {
            let at = first.remove();
            if let Some(delayed) = self.nodes[at].delayed.take() {
                self.clock.want(delayed.priority != Priority::default());
                self.enqueue(at, delayed.priority);
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.phase != Phase::Open && self.ready.is_empty() && self.again == 0
    }

    fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.processing.is_empty()
    }

    /// Wakes those who wait for the end, if this is it.
    fn settle(&mut self, after: &mut After<T>) {
        if self.phase == Phase::Open {
            return;
        }
        if self.has_ended() {
            after.wake_all(self.getters.all());
        }
        if self.phase == Phase::Closed || self.is_idle() {
            after.wake_all(self.drainers.all());
        }
    }
}
