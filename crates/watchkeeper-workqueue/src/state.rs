//! State: all of a queue, behind its lock.

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

use hashbrown::HashTable;
use slab::Slab;

use crate::list::{Links, List};
use crate::metrics::Metrics;
use crate::node::{Delayed, Due, Node, Place};
use crate::ready::Ready;
use crate::time::Instant;
use crate::waiters::{Ticket, Waiters};
use crate::{Key, Priority};

/// The rules of the queue. Nothing in here waits or wakes: who is to be woken is returned, for when the lock is
/// released.
#[derive(Debug)]
pub(crate) struct State<T> {
    nodes: Slab<Node<T>>,
    /// The nodes by their keys.
    by_key: HashTable<usize>,
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

/// The time, where anybody wants to know it: with nothing but one priority and no metrics, nobody does.
#[derive(Debug)]
struct Clock {
    is_wanted: bool,
    begun: Instant,
}

impl Clock {
    fn now(&self) -> Instant {
        if self.is_wanted { Instant::now() } else { self.begun }
    }
}

/// A key with what was computed of it before the lock was taken.
#[derive(Debug)]
pub(crate) struct Keyed<T> {
    pub(crate) key: T,
    pub(crate) hash: u64,
    pub(crate) group: u64,
}

/// Who is to be woken once the lock is released.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Wakes {
    one: Option<Waker>,
    others: Vec<Waker>,
}

impl Wakes {
    pub(crate) fn wake(self) {
        self.one.into_iter().chain(self.others).for_each(Waker::wake);
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
            nodes: Slab::new(),
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
            clock: Clock { is_wanted: metrics.is_some(), begun: Instant::now() },
            metrics,
        }
    }

    /// Adds a key (Q2).
    pub(crate) fn add(&mut self, keyed: Keyed<T>, priority: Priority) -> Wakes {
        if self.phase != Phase::Open {
            return Wakes::default();
        }
        self.clock.is_wanted |= priority != Priority::default();
        let at = self.node(keyed);
        match self.enqueue(at, priority) {
            true => Wakes { one: self.getters.next(), ..Wakes::default() },
            false => Wakes::default(),
        }
    }

    /// Adds a key later, unless it is added earlier by another delay (Q4).
    pub(crate) fn add_at(&mut self, keyed: Keyed<T>, when: Instant, priority: Priority) -> Wakes {
        if self.phase != Phase::Open {
            return Wakes::default();
        }
        if let Some(metrics) = &self.metrics {
            metrics.retried();
        }
        let at = self.node(keyed);
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
        if is_first { self.wake_keeper() } else { Wakes::default() }
    }

    /// A getter asks. He waits, at his place in the row, if there is nothing.
    pub(crate) fn take(&mut self, ticket: &mut Option<Ticket>, waker: &Waker) -> (Taken<T>, Wakes) {
        self.undelay();
        if let Some(at) = self.ready.pop(&mut self.nodes) {
            let key = self.begin(at);
            let wakes = self.leave(ticket);
            return (Taken::Key(key, at), wakes);
        }
        if self.has_ended() {
            let wakes = self.leave(ticket);
            return (Taken::Ended, wakes);
        }
        let ticket = self.getters.wait(ticket, waker);
        let is_keeper = self.keeper.is_none_or(|keeper| keeper == ticket);
        let until = self.delayed.first_key_value().filter(|_| is_keeper).map(|(due, _)| due.0);
        if is_keeper {
            self.keeper = until.map(|_| ticket);
        }
        (Taken::Wait(until), Wakes::default())
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
            true => Wakes { one: self.getters.next(), ..Wakes::default() },
            false => Wakes::default(),
        }
    }

    /// A worker is done. What is returned besides is to be dropped once the lock is released.
    pub(crate) fn finish(&mut self, at: usize) -> (Wakes, Option<T>) {
        self.processing.remove(&mut self.nodes, at);
        let node = &mut self.nodes[at];
        let Place::Processing { since, again } = std::mem::replace(&mut node.place, Place::Nowhere) else {
            debug_assert!(false, "only what is worked on is done");
            return (Wakes::default(), None);
        };
        if let Some(metrics) = &self.metrics {
            metrics.finished(self.clock.now().duration_since(since));
        }
        if let Some(priority) = again {
            self.again -= 1;
            let node = &mut self.nodes[at];
            node.place = Place::Ready(priority);
            self.ready.push(&mut self.nodes, at, priority);
            return (Wakes { one: self.getters.next(), ..Wakes::default() }, None);
        }
        let gone = if self.nodes[at].delayed.is_none() { Some(self.remove(at)) } else { None };
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
                gone.push(self.remove(at));
            }
        }
        (self.settle(), gone)
    }

    /// Takes no more keys, and forgets all that nobody works on, which is returned to be dropped.
    pub(crate) fn abandon(&mut self) -> (Wakes, Vec<T>) {
        while let Some(at) = self.ready.pop(&mut self.nodes) {
            self.nodes[at].place = Place::Nowhere;
        }
        for (_, node) in &mut self.nodes {
            if let Place::Processing { again, .. } = &mut node.place {
                *again = None;
            }
        }
        self.again = 0;
        let waiting: Vec<_> =
            self.nodes.iter().filter(|(_, node)| node.place == Place::Nowhere).map(|(at, _)| at).collect();
        self.delayed.clear();
        let gone = waiting.into_iter().map(|at| self.remove(at)).collect();
        for (_, node) in &mut self.nodes {
            node.delayed = None;
        }
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
            Place::Processing { since, .. } => now.duration_since(since),
            Place::Nowhere | Place::Ready(_) => Duration::ZERO,
        })
    }

    pub(crate) fn metrics(&self) -> Option<&Metrics> {
        self.metrics.as_ref()
    }

    /// The node of a key.
    fn node(&mut self, keyed: Keyed<T>) -> usize {
        let Keyed { key, hash, group } = keyed;
        let nodes = &self.nodes;
        if let Some(at) = self.by_key.find(hash, |at| nodes[*at].key == key) {
            return *at;
        }
        let added = self.clock.begun;
        let node =
            Node { key, hash, group, place: Place::Nowhere, added, delayed: None, links: Links::default() };
        let at = self.nodes.insert(node);
        let nodes = &self.nodes;
        self.by_key.insert_unique(hash, at, |at| nodes[*at].hash);
        at
    }

    fn remove(&mut self, at: usize) -> T {
        let node = self.nodes.remove(at);
        if let Ok(entry) = self.by_key.find_entry(node.hash, |known| *known == at) {
            entry.remove();
        }
        node.key
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
    fn begin(&mut self, at: usize) -> T {
        let since = self.clock.now();
        let node = &mut self.nodes[at];
        node.place = Place::Processing { since, again: None };
        if let Some(metrics) = &self.metrics {
            metrics.begun(since.duration_since(node.added));
        }
        let key = node.key.clone();
        self.processing.push(&mut self.nodes, at);
        key
    }

    /// Queues what has been delayed for long enough. Nobody is woken: the keeper of the time comes by himself, and
    /// who takes the first wakes somebody for the next.
    fn undelay(&mut self) {
        if self.delayed.is_empty() {
            return;
        }
        let now = Instant::now();
        while let Some(first) = self.delayed.first_entry().filter(|first| first.key().0 <= now) {
            let at = first.remove();
            if let Some(delayed) = self.nodes[at].delayed.take() {
                self.clock.is_wanted |= delayed.priority != Priority::default();
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
        let mut others = Vec::new();
        if self.has_ended() {
            others.extend(self.getters.all());
        }
        if self.phase == Phase::Closed || self.is_idle() {
            others.extend(self.drainers.all());
        }
        Wakes { one: None, others }
    }

    fn wake_keeper(&mut self) -> Wakes {
        let keeper = match self.keeper {
            Some(keeper) => self.getters.of(keeper),
            None => self.getters.next(),
        };
        Wakes { one: keeper, ..Wakes::default() }
    }
}
