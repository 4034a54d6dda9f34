//! State: everything behind the lock.

use std::collections::BTreeMap;

use hashbrown::HashTable;
use hashbrown::hash_table;
use slab::Slab;
use smallvec::SmallVec;

use crate::metrics::Metrics;
use crate::ready::{Position, Ready};
use crate::time::Instant;
use crate::{Key, Priority};

/// The rules of the queue. Nothing here waits, wakes or drops a key: that is left to [`After`].
#[derive(Debug)]
pub(crate) struct State<T> {
    /// Every key that is ready, processing or delayed.
    entries: Slab<Entry<T>>,
    /// The slots of `entries`, by hash of the key.
    slots: HashTable<usize>,
    ready: Ready,
    /// Slots of the keys that workers hold.
    processing: Vec<usize>,
    /// Slots by deadline, then in the order of insertion.
    delayed: BTreeMap<Deadline, usize>,
    last_delay: u64,
    phase: Phase,
    /// Number of getters that wait.
    waiting: usize,
    /// The first deadline that a waiting getter sleeps until: it is the timekeeper for all of them.
    timekeeper: Option<Instant>,
    metrics: Option<Metrics>,
}

/// Actions for after the lock is released (`workqueue.Q6`).
#[derive(Debug)]
pub(crate) struct After<T> {
    /// Wake a getter. If there is more to do, it wakes the next one.
    pub(crate) wake_getter: bool,
    /// Wake everything that waits for the end of a drain.
    pub(crate) wake_drains: bool,
    /// Drop these keys.
    pub(crate) keys: SmallVec<[T; 2]>,
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
    pub(crate) priority: Priority,
    pub(crate) now: Instant,
    /// When to add the key, if later.
    pub(crate) deadline: Option<Instant>,
}

/// State of a key.
#[derive(Debug)]
pub(crate) struct Entry<T> {
    key: T,
    /// `None` while a worker has it.
    copy: Option<T>,
    hash: u64,
    group: u64,
    /// When the key was added first since a worker last received it.
    pub(crate) added: Instant,
    pub(crate) stage: Stage,
    /// Set if the key is to be added later, whatever its stage.
    delay: Option<(Deadline, Priority)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Stage {
    /// At most delayed.
    Idle,
    Ready(Position),
    /// With a worker; if set, it becomes ready with this priority when that is done (`workqueue.Q2`).
    Processing(Option<Priority>),
}

/// The time at which a delayed key is added, and the number of the delay.
type Deadline = (Instant, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Open,
    /// Shut down; a caller waits until every key is processed.
    Draining,
    /// Shut down.
    Closed,
}

/// The result of [`State::take`].
#[derive(Debug)]
pub(crate) enum Taken<T> {
    /// A key, and the slot to [finish](State::finish).
    Key(T, usize),
    /// The queue is shut down and empty.
    ShutDown,
    /// The getter has to wait.
    Nothing,
}

/// Whether a getter waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    No,
    /// Until it is woken.
    Yes,
    /// As the timekeeper: until this deadline, or until it is woken.
    Until(Instant),
}

impl<T: Key> State<T> {
    pub(crate) fn new(ready: Ready, metrics: Option<Metrics>) -> Self {
        Self {
            entries: Slab::new(),
            slots: HashTable::new(),
            ready,
            processing: Vec::new(),
            delayed: BTreeMap::new(),
            last_delay: 0,
            phase: Phase::Open,
            waiting: 0,
            timekeeper: None,
            metrics,
        }
    }

    /// Adds a key, now (`workqueue.Q2`) or later (`workqueue.Q4`).
    pub(crate) fn add(&mut self, new: NewKey<T>, after: &mut After<T>) {
        if !self.is_open() {
            after.keys.extend([new.key, new.copy]);
            return;
        }
        let (priority, now, deadline) = (new.priority, new.now, new.deadline);
        let slot = self.insert(new, after);
        after.wake_getter = match deadline {
            None => self.enqueue(slot, priority, now),
            Some(at) => self.delay(slot, priority, at),
        };
    }

    /// Returns the next key to a getter. If there is none, the getter counts as waiting until it asks again or
    /// [leaves](Self::leave).
    pub(crate) fn take(&mut self, waiting: &mut Waiting, after: &mut After<T>) -> Taken<T> {
        self.stop_waiting(waiting);
        self.enqueue_due();
        let taken = if let Some(slot) = self.ready.pop(&self.entries) {
            Taken::Key(self.begin(slot), slot)
        } else if self.has_ended() {
            Taken::ShutDown
        } else {
            self.wait(waiting);
            return Taken::Nothing;
        };
        after.wake_getter = self.needs_getter();
        taken
    }

    /// Forgets a getter. It may have been woken for something that it does not take: another is woken
    /// (`workqueue.Q3`).
    pub(crate) fn leave(&mut self, waiting: &mut Waiting, after: &mut After<T>) {
        self.stop_waiting(waiting);
        after.wake_getter = self.needs_getter();
    }

    /// Takes a key back from its worker.
    pub(crate) fn finish(&mut self, slot: usize, key: Option<T>, after: &mut After<T>) {
        self.processing.retain(|processing| *processing != slot);
        if let Some(metrics) = &mut self.metrics {
            metrics.finished(slot);
        }
        let entry = &mut self.entries[slot];
        entry.copy = key;
        let Stage::Processing(again) = entry.stage else { unreachable!("a worker had the key") };
        if let Some(priority) = again {
            entry.stage = Stage::Ready(self.ready.push(slot, entry.group, priority));
            after.wake_getter = true;
        } else {
            entry.stage = Stage::Idle;
            self.remove_unused(slot, after);
            self.wake_ended(after);
        }
    }

    /// Refuses keys from now on, and drops delayed ones.
    pub(crate) fn close(&mut self, phase: Phase, after: &mut After<T>) {
        self.phase = self.phase.max(phase);
        for slot in std::mem::take(&mut self.delayed).into_values() {
            self.entries[slot].delay = None;
            self.remove_unused(slot, after);
        }
        self.wake_ended(after);
    }

    /// Refuses keys from now on, and drops all that no worker holds.
    pub(crate) fn abandon(&mut self, after: &mut After<T>) {
        while let Some(slot) = self.ready.pop(&self.entries) {
            self.entries[slot].stage = Stage::Idle;
            self.remove_unused(slot, after);
        }
        for slot in &self.processing {
            self.entries[*slot].stage = Stage::Processing(None);
        }
        if let Some(metrics) = &self.metrics {
            metrics.abandoned();
        }
        self.close(Phase::Closed, after);
    }

    pub(crate) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Returns whether a drain has nothing to wait for.
    pub(crate) fn is_drained(&self) -> bool {
        let is_idle = self.ready.is_empty() && self.processing.is_empty();
        self.phase == Phase::Closed || (self.phase == Phase::Draining && is_idle)
    }

    pub(crate) fn has_waiting_getter(&self) -> bool {
        self.waiting > 0
    }

    /// Returns how many keys are ready.
    pub(crate) fn len(&mut self) -> usize {
        self.enqueue_due();
        self.ready.len()
    }

    /// Updates the metrics that depend on the current time.
    pub(crate) fn refresh_metrics(&self) {
        if let Some(metrics) = &self.metrics {
            metrics.refresh();
        }
    }

    /// Returns the slot of a key, which is new or known.
    fn insert(&mut self, new: NewKey<T>, after: &mut After<T>) -> usize {
        let NewKey { key, copy, hash, group, now, .. } = new;
        let entries = &mut self.entries;
        let is_same = |slot: &usize| entries[*slot].key == key;
        match self.slots.entry(hash, is_same, |slot| entries[*slot].hash) {
            hash_table::Entry::Occupied(known) => {
                after.keys.extend([key, copy]);
                *known.get()
            }
            hash_table::Entry::Vacant(vacant) => {
                let (copy, stage, delay) = (Some(copy), Stage::Idle, None);
                let slot = entries.insert(Entry { key, copy, hash, group, added: now, stage, delay });
                vacant.insert(slot);
                slot
            }
        }
    }

    /// Removes a key that is neither ready, processing nor delayed.
    fn remove_unused(&mut self, slot: usize, after: &mut After<T>) {
        let entry = &self.entries[slot];
        if !matches!(entry.stage, Stage::Idle) || entry.delay.is_some() {
            return;
        }
        let entry = self.entries.remove(slot);
        if let Ok(found) = self.slots.find_entry(entry.hash, |other| *other == slot) {
            found.remove();
        }
        after.keys.push(entry.key);
        after.keys.extend(entry.copy);
    }

    /// Makes a key ready, now or when its worker is done. Returns whether there is one more to hand out.
    fn enqueue(&mut self, slot: usize, priority: Priority, now: Instant) -> bool {
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
            Stage::Processing(again) => *again = Some(priority),
            Stage::Idle => entry.stage = Stage::Ready(self.ready.push(slot, entry.group, priority)),
        }
        entry.added = now;
        if let Some(metrics) = &self.metrics {
            metrics.added();
        }
        matches!(entry.stage, Stage::Ready(_))
    }

    /// Adds a key at an instant, or at the earlier one that it was delayed to before. Returns whether a getter has to
    /// wake up earlier than before.
    fn delay(&mut self, slot: usize, priority: Priority, at: Instant) -> bool {
        if let Some(metrics) = &self.metrics {
            metrics.retried();
        }
        self.last_delay += 1;
        let (mut deadline, mut priority) = ((at, self.last_delay), priority);
        let delay = &mut self.entries[slot].delay;
        if let Some((known, known_priority)) = *delay {
            self.delayed.remove(&known);
            deadline = deadline.min(known);
            priority = priority.max(known_priority);
        }
        *delay = Some((deadline, priority));
        self.delayed.insert(deadline, slot);
        self.timekeeper.is_none_or(|timekeeper| deadline.0 < timekeeper)
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
            if let Some((_, priority)) = self.entries[slot].delay.take() {
                self.enqueue(slot, priority, now);
            }
        }
    }

    /// Gives a ready key to a worker.
    fn begin(&mut self, slot: usize) -> T {
        self.processing.push(slot);
        let entry = &mut self.entries[slot];
        entry.stage = Stage::Processing(None);
        if let Some(metrics) = &mut self.metrics {
            metrics.begun(slot, entry.added);
        }
        entry.copy.take().expect("only a worker takes the copy, and brings it back")
    }

    /// Makes a getter wait, as the timekeeper if none wakes up before the first deadline.
    fn wait(&mut self, waiting: &mut Waiting) {
        self.waiting += 1;
        *waiting = Waiting::Yes;
        if let Some((&(first, _), _)) = self.delayed.first_key_value()
            && self.timekeeper.is_none_or(|timekeeper| first < timekeeper)
        {
            self.timekeeper = Some(first);
            *waiting = Waiting::Until(first);
        }
    }

    fn stop_waiting(&mut self, waiting: &mut Waiting) {
        let before = std::mem::replace(waiting, Waiting::No);
        self.waiting -= usize::from(before != Waiting::No);
        if let Waiting::Until(deadline) = before {
            self.timekeeper = self.timekeeper.filter(|timekeeper| *timekeeper != deadline);
        }
    }

    /// Returns whether there is something to do for a waiting getter: a key, the end, or a deadline.
    fn needs_getter(&self) -> bool {
        let needs_timekeeper = self.timekeeper.is_none() && !self.delayed.is_empty();
        !self.ready.is_empty() || needs_timekeeper || self.has_ended()
    }

    /// Returns whether no key will be handed out any more.
    fn has_ended(&self) -> bool {
        let is_again = |slot: &usize| matches!(self.entries[*slot].stage, Stage::Processing(Some(_)));
        !self.is_open() && self.ready.is_empty() && !self.processing.iter().any(is_again)
    }

    /// Wakes the futures that wait for a shutdown, if it is complete now.
    fn wake_ended(&self, after: &mut After<T>) {
        after.wake_getter = self.has_ended();
        after.wake_drains = self.is_drained();
    }
}

impl<T> Default for After<T> {
    fn default() -> Self {
        Self { wake_getter: false, wake_drains: false, keys: SmallVec::new() }
    }
}
