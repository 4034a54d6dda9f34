//! State: all of a queue, behind its lock.

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

use hashbrown::HashTable;

use crate::clock::Clock;
use crate::list::List;
use crate::metrics::Metrics;
use crate::node::{Delayed, Due, Hashes, Place};
use crate::nodes::Nodes;
use crate::ready::Ready;
use crate::time::Instant;
use crate::waiters::{Ticket, Waiters};
use crate::{Key, Priority};

/// The rules of the queue. Nothing in here waits or wakes: who is to be woken is returned, for when the lock is
/// released.
#[derive(Debug)]
pub(crate) struct State<T> {
    nodes: Nodes<T>,
    /// The nodes by their keys.
    by_key: HashTable<u32>,
    ready: Ready,
    /// With a worker, from the one who has been longest.
    processing: List,
    /// How many of those are to be queued again (Q2).
    again: usize,
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

/// Who is to be woken once the lock is released.
#[derive(Debug)]
#[must_use]
pub(crate) enum Wakes {
    Nobody,
    One(Waker),
    Many(Vec<Waker>),
}

impl Wakes {
    pub(crate) fn wake(self) {
        match self {
            Self::Nobody => {}
            Self::One(waker) => waker.wake(),
            Self::Many(wakers) => wakers.into_iter().for_each(Waker::wake),
        }
    }
}

impl From<Option<Waker>> for Wakes {
    fn from(waker: Option<Waker>) -> Self {
        waker.map_or(Self::Nobody, Self::One)
    }
}

/// What a getter gets.
#[derive(Debug)]
pub(crate) enum Taken<T> {
    /// A key, and the place of its node.
    Key(T, usize),
    /// Nothing more, ever.
    Ended,
    /// Nothing yet. Whoever has a time here looks again then.
    Wait(Option<Instant>),
}

impl<T: Key> State<T> {
    pub(crate) fn new(ready: Ready, metrics: Option<Metrics>) -> Self {
        Self {
            nodes: Nodes::default(),
            by_key: HashTable::new(),
            ready,
            processing: List::default(),
            again: 0,
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
    pub(crate) fn add(&mut self, key: T, hashes: Hashes, priority: Priority) -> Wakes {
        if self.phase != Phase::Open {
            return Wakes::Nobody;
        }
        self.clock.want(priority != Priority::default());
        let at = self.node(key, hashes);
        match self.enqueue(at, priority) {
            true => self.getters.next().into(),
            false => Wakes::Nobody,
        }
    }

    /// Adds a key later, unless it is added earlier by another delay (Q4).
    pub(crate) fn add_at(&mut self, key: T, hashes: Hashes, when: Instant, priority: Priority) -> Wakes {
        let when = self.clock.moment(when);
        if self.phase != Phase::Open {
            return Wakes::Nobody;
        }
        if let Some(metrics) = &self.metrics {
            metrics.retried();
        }
        let at = self.node(key, hashes);
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
        if is_first { self.wake_keeper() } else { Wakes::Nobody }
    }

    /// A getter asks. He waits, at his place in the row, if there is nothing.
    pub(crate) fn take(&mut self, ticket: &mut Option<Ticket>, waker: &Waker) -> (Taken<T>, Wakes) {
        self.undelay();
        if let Some(at) = self.ready.pop(&mut self.nodes) {
            self.begin(at);
            let wakes = self.leave(ticket);
            return (Taken::Key(self.nodes.key(at).clone(), at), wakes);
        }
        if self.has_ended() {
            let wakes = self.leave(ticket);
            return (Taken::Ended, wakes);
        }
        let ticket = self.getters.wait(ticket, waker);
        let is_keeper = self.keeper.is_none_or(|keeper| keeper == ticket);
        let until =
            self.delayed.first_key_value().filter(|_| is_keeper).map(|(due, _)| self.clock.instant(due.0));
        if is_keeper {
            self.keeper = until.map(|_| ticket);
        }
        (Taken::Wait(until), Wakes::Nobody)
    }

    /// A getter waits no more: he has something, or does not want it (W1).
    pub(crate) fn leave(&mut self, ticket: &mut Option<Ticket>) -> Wakes {
        if let Some(ticket) = ticket.take() {
            self.getters.leave(ticket);
            if self.keeper == Some(ticket) {
                self.keeper = None;
            }
        }
        if self.has_ended() {
            return self.settle();
        }
        let wants_keeper = self.keeper.is_none() && !self.delayed.is_empty();
        match wants_keeper || !self.ready.is_empty() {
            true => self.getters.next().into(),
            false => Wakes::Nobody,
        }
    }

    /// A worker is done. What is returned besides is to be dropped once the lock is released.
    pub(crate) fn finish(&mut self, at: usize) -> (Wakes, Option<T>) {
        self.processing.remove(&mut self.nodes, at);
        let node = &mut self.nodes[at];
        let Place::Processing { since, again } = std::mem::replace(&mut node.place, Place::Nowhere) else {
            debug_assert!(false, "only what is worked on is done");
            return (Wakes::Nobody, None);
        };
        if let Some(metrics) = &self.metrics {
            metrics.finished(self.clock.now().since(since));
        }
        if let Some(priority) = again {
            self.again -= 1;
            let node = &mut self.nodes[at];
            node.place = Place::Ready(priority);
            self.ready.push(&mut self.nodes, at, priority);
            return (self.getters.next().into(), None);
        }
        let gone = if self.nodes[at].delayed.is_none() { self.remove(at) } else { None };
        (self.settle(), gone)
    }

    /// Takes no more keys. What is delayed is dropped, as what is returned is.
    pub(crate) fn close(&mut self, is_drained: bool) -> (Wakes, Vec<T>) {
        self.phase = match (self.phase, is_drained) {
            (Phase::Open | Phase::Draining, true) => Phase::Draining,
            _ => Phase::Closed,
        };
        let mut gone = Vec::new();
        for (_, at) in std::mem::take(&mut self.delayed) {
            self.nodes[at].delayed = None;
            if self.nodes[at].place == Place::Nowhere {
                gone.extend(self.remove(at));
            }
        }
        (self.settle(), gone)
    }

    /// Takes no more keys, and forgets all that nobody works on, which is returned to be dropped.
    pub(crate) fn abandon(&mut self) -> (Wakes, Vec<T>) {
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
                Place::Nowhere | Place::Ready(_) => waiting.push(at),
            }
        }
        let gone = waiting.into_iter().filter_map(|at| self.remove(at)).collect();
        self.phase = Phase::Closed;
        if let Some(metrics) = &self.metrics {
            metrics.abandoned();
        }
        (self.settle(), gone)
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
            Place::Nowhere | Place::Ready(_) => Duration::ZERO,
        })
    }

    pub(crate) fn metrics(&self) -> Option<&Metrics> {
        self.metrics.as_ref()
    }

    /// The node of a key.
    fn node(&mut self, key: T, hashes: Hashes) -> usize {
        let nodes = &self.nodes;
        if let Some(at) = self.by_key.find(hashes.key, |at| *nodes.key(*at as usize) == key) {
            return *at as usize;
        }
        let at = self.nodes.insert(key, hashes);
        let place = u32::try_from(at).expect("fewer keys than would fit into memory");
        let nodes = &self.nodes;
        self.by_key.insert_unique(hashes.key, place, |at| nodes[*at as usize].hashes.key);
        at
    }

    fn remove(&mut self, at: usize) -> Option<T> {
        let hash = self.nodes[at].hashes.key;
        if let Ok(entry) = self.by_key.find_entry(hash, |known| *known as usize == at) {
            entry.remove();
        }
        self.nodes.remove(at)
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
            Place::Nowhere => node.place = Place::Ready(priority),
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

    /// Gives a node to a worker.
    fn begin(&mut self, at: usize) {
        let since = self.clock.now();
        let node = &mut self.nodes[at];
        node.place = Place::Processing { since, again: None };
        if let Some(metrics) = &self.metrics {
            metrics.begun(since.since(node.added));
        }
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
    fn settle(&mut self) -> Wakes {
        if self.phase == Phase::Open {
            return Wakes::Nobody;
        }
        let mut woken = Vec::new();
        if self.has_ended() {
            woken.extend(self.getters.all());
        }
        if self.phase == Phase::Closed || self.is_idle() {
            woken.extend(self.drainers.all());
        }
        Wakes::Many(woken)
    }

    fn wake_keeper(&mut self) -> Wakes {
        match self.keeper {
            Some(keeper) => self.getters.of(keeper).into(),
            None => self.getters.next().into(),
        }
    }
}
