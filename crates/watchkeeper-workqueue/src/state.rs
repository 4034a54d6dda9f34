//! State: everything behind the lock.

use std::collections::{BTreeMap, HashMap};
use std::task::Waker;
use std::time::Duration;

use hashbrown::HashTable;
use hashbrown::hash_table;
use slab::Slab;

use crate::deferred::Deferred;
use crate::metrics::Metrics;
use crate::ready::{Position, Ready};
use crate::time::Instant;
use crate::waiters::{Ticket, Waiters};
use crate::{Key, Priority};

/// The rules of the queue. Nothing here waits, wakes or drops a key: that is [`Deferred`].
#[derive(Debug)]
pub(crate) struct State<T> {
    /// Every key that is ready, processing or delayed.
    entries: Slab<Entry<T>>,
    /// The slots of `entries`, by hash of the key.
    slots: HashTable<usize>,
    ready: Ready,
    /// Slots of the keys that workers hold.
    processing: Vec<usize>,
    /// How many of those become ready again when their worker is done (`workqueue.Q2`).
    again: usize,
    /// Slots by deadline, then in the order of insertion.
    delayed: BTreeMap<Deadline, usize>,
    /// Deadlines and priorities by slot.
    delays: HashMap<usize, (Deadline, Priority)>,
    last_delay: u64,
    phase: Phase,
    getters: Waiters,
    /// The waiting getter that wakes up at the first deadline.
    timekeeper: Option<Ticket>,
    drainers: Waiters,
    /// Whether time matters: with one priority and no metrics the clock is never read.
    is_timed: bool,
    created: Instant,
    metrics: Option<Metrics>,
}

/// A key that is added, with all that is computed from it before the lock is taken.
#[derive(Debug)]
pub(crate) struct NewKey<T> {
    pub(crate) key: T,
    /// For the worker.
    pub(crate) copy: T,
    pub(crate) hash: u64,
    /// Hash of the fairness group; 0 without fairness.
    pub(crate) group: u64,
}

/// What the queue knows of a key.
#[derive(Debug)]
pub(crate) struct Entry<T> {
    key: T,
    /// `None` while a worker has it.
    copy: Option<T>,
    hash: u64,
    group: u64,
    /// When the key was added first since a worker last received it.
    pub(crate) added: Time,
    /// When a worker received it.
    begun: Time,
    pub(crate) stage: Stage,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Stage {
    /// At most delayed.
    Idle,
    Ready(Position),
    /// With a worker; if set, it becomes ready with this priority when that is done (`workqueue.Q2`).
    Processing(Option<Priority>),
}

/// Nanoseconds since the queue was created.
pub(crate) type Time = u64;

/// When a key is added, and the number of the delay.
type Deadline = (Instant, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Draining,
    Closed,
}

/// The result of [`State::take`].
#[derive(Debug)]
pub(crate) enum Taken<T> {
    /// A key, and the slot to [finish](State::finish).
    Key(T, usize),
    /// The queue is shut down and empty.
    ShutDown,
    /// Nothing yet; a getter that receives an instant has to ask again then.
    Wait(Option<Instant>),
}

impl<T: Key> State<T> {
    pub(crate) fn new(ready: Ready, metrics: Option<Metrics>) -> Self {
        Self {
            entries: Slab::new(),
            slots: HashTable::new(),
            ready,
            processing: Vec::new(),
            again: 0,
            delayed: BTreeMap::new(),
            delays: HashMap::new(),
            last_delay: 0,
            phase: Phase::Open,
            getters: Waiters::default(),
            timekeeper: None,
            drainers: Waiters::default(),
            is_timed: metrics.is_some(),
            created: Instant::now(),
            metrics,
        }
    }

    /// Adds a key (`workqueue.Q2`).
    pub(crate) fn add(&mut self, new: NewKey<T>, priority: Priority, deferred: &mut Deferred<T>) {
        if !self.is_open() {
            deferred.keys = (Some(new.key), Some(new.copy));
            return;
        }
        let slot = self.insert(new, deferred);
        if self.enqueue(slot, priority) {
            deferred.waker = self.getters.next();
        }
    }

    /// Adds a key at an instant, or at the earlier one that it was delayed to before (`workqueue.Q4`).
    pub(crate) fn add_at(
        &mut self,
        new: NewKey<T>,
        at: Instant,
        priority: Priority,
        deferred: &mut Deferred<T>,
    ) {
        if !self.is_open() {
            deferred.keys = (Some(new.key), Some(new.copy));
            return;
        }
        if let Some(metrics) = &self.metrics {
            metrics.retried();
        }
        let slot = self.insert(new, deferred);
        self.last_delay += 1;
        let (mut deadline, mut priority) = ((at, self.last_delay), priority);
        if let Some((known, known_priority)) = self.delays.remove(&slot) {
            self.delayed.remove(&known);
            deadline = deadline.min(known);
            priority = priority.max(known_priority);
        }
        self.delays.insert(slot, (deadline, priority));
        self.delayed.insert(deadline, slot);
        let is_first = self.delayed.first_key_value().is_some_and(|(first, _)| *first == deadline);
        if is_first {
            deferred.waker = match self.timekeeper {
                Some(timekeeper) => self.getters.remove(timekeeper),
                None => self.getters.next(),
            };
        }
    }

    /// Returns the next key, or registers the getter to be woken.
    pub(crate) fn take(
        &mut self,
        ticket: &mut Option<Ticket>,
        waker: &Waker,
        deferred: &mut Deferred<T>,
    ) -> Taken<T> {
        self.enqueue_due();
        if let Some(slot) = self.ready.pop(&self.entries) {
            let key = self.begin(slot);
            self.leave(ticket, deferred);
            return Taken::Key(key, slot);
        }
        if self.has_ended() {
            self.leave(ticket, deferred);
            return Taken::ShutDown;
        }
        let ticket = self.getters.wait(ticket, waker);
        let mut until = None;
        if self.timekeeper.is_none_or(|timekeeper| timekeeper == ticket) {
            until = self.delayed.first_key_value().map(|((at, _), _)| *at);
            self.timekeeper = until.map(|_| ticket);
        }
        Taken::Wait(until)
    }

    /// Unregisters a getter. It may have been woken for something that it does not take: the next is woken
    /// (`workqueue.Q3`).
    pub(crate) fn leave(&mut self, ticket: &mut Option<Ticket>, deferred: &mut Deferred<T>) {
        if let Some(ticket) = ticket.take() {
            self.getters.remove(ticket);
            self.timekeeper = self.timekeeper.filter(|timekeeper| *timekeeper != ticket);
        }
        if self.has_ended() {
            self.wake_ended(deferred);
            return;
        }
        let needs_timekeeper = self.timekeeper.is_none() && !self.delayed.is_empty();
        if needs_timekeeper || !self.ready.is_empty() {
            deferred.waker = self.getters.next();
        }
    }

    /// Takes a key back from its worker.
    pub(crate) fn finish(&mut self, slot: usize, key: Option<T>, deferred: &mut Deferred<T>) {
        self.processing.retain(|processing| *processing != slot);
        let now = self.now();
        let entry = &mut self.entries[slot];
        entry.copy = key;
        let stage = std::mem::replace(&mut entry.stage, Stage::Idle);
        if let Some(metrics) = &self.metrics {
            metrics.finished(duration(entry.begun, now));
        }
        let Stage::Processing(again) = stage else { unreachable!("a worker had the key") };
        if let Some(priority) = again {
            self.again -= 1;
            entry.stage = Stage::Ready(self.ready.push(slot, entry.group, priority));
            deferred.waker = self.getters.next();
            return;
        }
        if !self.delays.contains_key(&slot) {
            self.remove(slot, deferred);
        }
        self.wake_ended(deferred);
    }

    /// Refuses keys from now on, and drops delayed ones.
    pub(crate) fn close(&mut self, is_drained: bool, deferred: &mut Deferred<T>) {
        self.phase = if is_drained && self.phase != Phase::Closed { Phase::Draining } else { Phase::Closed };
        for slot in std::mem::take(&mut self.delayed).into_values() {
            if matches!(self.entries[slot].stage, Stage::Idle) {
                self.remove(slot, deferred);
                deferred.stash_keys();
            }
        }
        self.delays = HashMap::new();
        self.wake_ended(deferred);
    }

    /// Refuses keys from now on, and drops all that no worker holds.
    pub(crate) fn abandon(&mut self, deferred: &mut Deferred<T>) {
        while let Some(slot) = self.ready.pop(&self.entries) {
            self.entries[slot].stage = Stage::Idle;
            if !self.delays.contains_key(&slot) {
                self.remove(slot, deferred);
                deferred.stash_keys();
            }
        }
        for slot in &self.processing {
            self.entries[*slot].stage = Stage::Processing(None);
        }
        self.again = 0;
        if let Some(metrics) = &self.metrics {
            metrics.abandoned();
        }
        self.close(false, deferred);
    }

    /// Returns whether there is nothing left to wait for, or registers the caller to be woken.
    pub(crate) fn drained(&mut self, ticket: &mut Option<Ticket>, waker: &Waker) -> bool {
        let is_drained = self.phase == Phase::Closed || self.is_idle();
        if is_drained {
            self.stop_draining(ticket);
        } else {
            self.drainers.wait(ticket, waker);
        }
        is_drained
    }

    pub(crate) fn stop_draining(&mut self, ticket: &mut Option<Ticket>) {
        if let Some(ticket) = ticket.take() {
            self.drainers.remove(ticket);
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Returns how many keys are ready.
    pub(crate) fn len(&mut self) -> usize {
        self.enqueue_due();
        self.ready.len()
    }

    /// Updates the metrics that depend on the current time.
    pub(crate) fn refresh_metrics(&self) {
        let Some(metrics) = &self.metrics else { return };
        let now = self.now();
        metrics.refresh(self.processing.iter().map(|slot| duration(self.entries[*slot].begun, now)));
    }

    /// Returns the slot of a key, which is new or known.
    fn insert(&mut self, new: NewKey<T>, deferred: &mut Deferred<T>) -> usize {
        let NewKey { key, copy, hash, group } = new;
        let entries = &mut self.entries;
        let is_same = |slot: &usize| entries[*slot].key == key;
        match self.slots.entry(hash, is_same, |slot| entries[*slot].hash) {
            hash_table::Entry::Occupied(known) => {
                deferred.keys = (Some(key), Some(copy));
                *known.get()
            }
            hash_table::Entry::Vacant(vacant) => {
                let stage = Stage::Idle;
                let entry = Entry { key, copy: Some(copy), hash, group, added: 0, begun: 0, stage };
                let slot = entries.insert(entry);
                vacant.insert(slot);
                slot
            }
        }
    }

    fn remove(&mut self, slot: usize, deferred: &mut Deferred<T>) {
        let entry = self.entries.remove(slot);
        if let Ok(found) = self.slots.find_entry(entry.hash, |other| *other == slot) {
            found.remove();
        }
        deferred.keys = (Some(entry.key), entry.copy);
    }

    /// Makes a key ready, now or when its worker is done. Returns whether there is one more to hand out.
    fn enqueue(&mut self, slot: usize, priority: Priority) -> bool {
        self.is_timed |= priority != Priority::default();
        let now = self.now();
        let entry = &mut self.entries[slot];
        match &mut entry.stage {
            Stage::Ready(position) => {
                if priority > position.priority {
                    *position = self.ready.promote(slot, entry.group, priority);
                }
                return false;
            }
            Stage::Processing(Some(known)) => {
                *known = priority.max(*known);
                return false;
            }
            Stage::Processing(again) => {
                *again = Some(priority);
                self.again += 1;
            }
            Stage::Idle => entry.stage = Stage::Ready(self.ready.push(slot, entry.group, priority)),
        }
        entry.added = now;
        if let Some(metrics) = &self.metrics {
            metrics.added();
        }
        matches!(entry.stage, Stage::Ready(_))
    }

    /// Makes keys ready whose deadline has passed. Nobody is woken: the timekeeper wakes up by itself, and the
    /// getter that takes the first key wakes another for the next.
    fn enqueue_due(&mut self) {
        if self.delayed.is_empty() {
            return;
        }
        let now = Instant::now();
        while let Some(first) = self.delayed.first_entry().filter(|first| first.key().0 <= now) {
            let slot = first.remove();
            if let Some((_, priority)) = self.delays.remove(&slot) {
                self.enqueue(slot, priority);
            }
        }
    }

    /// Gives a ready key to a worker.
    fn begin(&mut self, slot: usize) -> T {
        let now = self.now();
        self.processing.push(slot);
        let entry = &mut self.entries[slot];
        (entry.stage, entry.begun) = (Stage::Processing(None), now);
        if let Some(metrics) = &self.metrics {
            metrics.begun(duration(entry.added, now));
        }
        entry.copy.take().expect("only a worker takes the copy, and brings it back")
    }

    /// Returns the current time, or zero where time does not matter.
    fn now(&self) -> Time {
        if self.is_timed { nanos(Instant::now().duration_since(self.created)) } else { 0 }
    }

    fn has_ended(&self) -> bool {
        !self.is_open() && self.ready.is_empty() && self.again == 0
    }

    fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.processing.is_empty()
    }

    /// Wakes the futures that wait for a shutdown, if it is complete now.
    fn wake_ended(&mut self, deferred: &mut Deferred<T>) {
        if self.has_ended() {
            deferred.wake_all(self.getters.take());
        }
        if self.phase == Phase::Closed || (self.phase == Phase::Draining && self.is_idle()) {
            deferred.wake_all(self.drainers.take());
        }
    }
}

/// Nanoseconds of a duration, at most 584 years.
pub(crate) fn nanos(duration: Duration) -> Time {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn duration(from: Time, to: Time) -> Duration {
    Duration::from_nanos(to.saturating_sub(from))
}
