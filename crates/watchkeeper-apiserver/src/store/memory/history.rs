//! History: the newest events of a collection, in a ring that watchers read with a cursor.
//!
//! - R1: every event of the collection after `floor` is here, in the order of revisions, and none up to
//!   it. So a state at `floor` or later can be reached by undoing, and a watch from there misses
//!   nothing.
//! - R2: the event at place `n` has sequence number `base + n`, and keeps it: a cursor is a sequence
//!   number, and has lagged exactly if it is less than `base`.
//! - R3: count and bytes are within their limits after each push (but one event is always kept). Age
//!   is caught up with by at most [`AGED_A_PUSH`] events a push, and wholly by a trim.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::store::{Event, Revision};

/// How many events are taken from the ring while it is locked.
pub(super) const BATCH: usize = 1024;
/// How many events beyond the age a push drops: more than one, so that it gets ahead.
const AGED_A_PUSH: usize = 16;
/// How many of the newest events keep what watchers have made of them.
const HOT: usize = 1024;
/// How long any event keeps it when the history is trimmed: by then all watchers that keep up have
/// shown it.
const COOL_AGE: Duration = Duration::from_secs(10);

/// What a history may hold, for each collection. Whichever limit is reached first counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// How many events. One is always kept.
    pub events: usize,
    /// How many bytes of events and of states that only the history still knows.
    pub bytes: usize,
    /// How old an event may get.
    pub age: Duration,
}

impl HistoryLimits {
    /// Events of a collection: as many as the watch cache of kube-apiserver at its largest.
    pub const EVENTS: usize = 102_400;
    /// Bytes of a collection: 16,000 updates of a pod of 8 KB.
    pub const BYTES: usize = 128 << 20;
    /// Five minutes: how often kube-apiserver has etcd compacted, and more than a client takes for
    /// the next page or to watch again.
    pub const AGE: Duration = Duration::from_secs(300);
}

/// [`EVENTS`](Self::EVENTS), [`BYTES`](Self::BYTES) and [`AGE`](Self::AGE).
impl Default for HistoryLimits {
    fn default() -> Self {
        Self { events: Self::EVENTS, bytes: Self::BYTES, age: Self::AGE }
    }
}

/// What was dropped, to be freed once the lock is released.
#[must_use = "free it after the lock"]
#[derive(Debug, Default)]
pub(super) struct Dropped(#[expect(dead_code, reason = "held to be freed later")] Vec<Arc<Event>>);

#[derive(Debug)]
struct Slot {
    time: Instant,
    bytes: usize,
    event: Arc<Event>,
}

#[derive(Debug)]
pub(super) struct History {
    limits: HistoryLimits,
    slots: VecDeque<Slot>,
    /// R2: the sequence number of the first slot.
    base: u64,
    /// R1.
    floor: Revision,
    bytes: usize,
}

impl History {
    pub(super) fn new(limits: HistoryLimits, floor: Revision) -> Self {
        Self { limits, slots: VecDeque::new(), base: 0, floor, bytes: 0 }
    }

    /// The oldest revision that can be read at or watched from.
    pub(super) fn floor(&self) -> Revision {
        self.floor
    }

    /// The sequence number of the next event.
    pub(super) fn end(&self) -> u64 {
        self.base + self.slots.len() as u64
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The sequence number of the first event after a revision.
    pub(super) fn first_after(&self, revision: Revision) -> u64 {
        // Nearly always the end: whoever watches has just listed.
        let newer = |slot: &Slot| slot.event.revision() > revision;
        match self.slots.back() {
            Some(last) if newer(last) => self.base + self.slots.partition_point(|slot| !newer(slot)) as u64,
            _ => self.end(),
        }
    }

    /// At most [`BATCH`] events from a sequence number on; `None` if some of them are gone (R2).
    pub(super) fn from(&self, sequence: u64) -> Option<impl Iterator<Item = &Arc<Event>>> {
        let skip = usize::try_from(sequence.checked_sub(self.base)?).ok()?.min(self.slots.len());
        Some(self.slots.range(skip..).take(BATCH).map(|slot| &slot.event))
    }

    /// Appends the newest event.
    pub(super) fn push(&mut self, event: Arc<Event>, now: Instant) -> Dropped {
        debug_assert!(self.slots.back().is_none_or(|last| last.event.revision() < event.revision()), "R1");
        let bytes = event.history_bytes();
        self.bytes += bytes;
        self.slots.push_back(Slot { time: now, bytes, event });
        let mut dropped = Vec::new();
        while self.is_over() {
            dropped.extend(self.pop());
        }
        for _ in 0..AGED_A_PUSH {
            if !self.is_aged(now) {
                break;
            }
            dropped.extend(self.pop());
        }
        if let Some(leaving) = self.slots.len().checked_sub(HOT + 1) {
            dropped.extend(self.cool(leaving));
        }
        Dropped(dropped)
    }

    /// Drops at most [`BATCH`] events that are too old, and says whether there are none left.
    pub(super) fn trim(&mut self, now: Instant) -> (Dropped, bool) {
        let mut dropped = Vec::new();
        while dropped.len() < BATCH && self.is_aged(now) {
            dropped.extend(self.pop());
        }
        let done = !self.is_aged(now);
        (Dropped(dropped), done)
    }

    /// Cools at most [`BATCH`] events from a sequence number on, and returns the number to go on
    /// with: none where all that follows is younger than [`COOL_AGE`].
    pub(super) fn cool_from(&mut self, sequence: u64, now: Instant) -> (Dropped, Option<u64>) {
        let first = usize::try_from(sequence.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let last = first.saturating_add(BATCH).min(self.slots.len());
        let mut cooled = Vec::new();
        for place in first..last {
            if now.saturating_duration_since(self.slots[place].time) < COOL_AGE {
                return (Dropped(cooled), None);
            }
            cooled.extend(self.cool(place));
        }
        let next = self.base + last as u64;
        (Dropped(cooled), (next < self.end()).then_some(next))
    }

    /// Drops all events up to a revision, at most [`BATCH`] of them, and says whether none is left.
    pub(super) fn compact(&mut self, revision: Revision) -> (Dropped, bool) {
        let is_before = |slot: &Slot| slot.event.revision() <= revision;
        let mut dropped = Vec::new();
        while dropped.len() < BATCH && self.slots.front().is_some_and(is_before) {
            dropped.extend(self.pop());
        }
        let done = !self.slots.front().is_some_and(is_before);
        if done {
            self.floor = self.floor.max(revision); // R1
        }
        (Dropped(dropped), done)
    }

    fn pop(&mut self) -> Option<Arc<Event>> {
        let slot = self.slots.pop_front()?;
        self.base += 1;
        self.bytes -= slot.bytes;
        self.floor = self.floor.max(slot.event.revision()); // R1
        Some(slot.event)
    }

    fn is_over(&self) -> bool {
        self.slots.len() > 1 && (self.slots.len() > self.limits.events || self.bytes > self.limits.bytes) // R3
    }

    fn is_aged(&self, now: Instant) -> bool {
        self.slots.front().is_some_and(|slot| now.saturating_duration_since(slot.time) > self.limits.age)
    }

    /// Replaces an event by one without encodings, and returns the hot one: watchers that still show it
    /// keep it.
    fn cool(&mut self, place: usize) -> Option<Arc<Event>> {
        let slot = self.slots.get_mut(place)?;
        let cold = slot.event.cooled()?;
        Some(std::mem::replace(&mut slot.event, Arc::new(cold)))
    }
}
