//! History: the newest events of a collection, in a ring buffer that watchers read with a cursor.
//!
//! Invariants:
//! - `history.R1`: the ring holds every event of the collection after `floor`, in revision order, and none up to it.
//!   So the state at `floor` or later can be reached by undoing events, and a watch from there misses nothing.
//! - `history.R2`: the event at index `n` has sequence number `base + n` for life. A cursor is a sequence number, and
//!   has lagged exactly if it is less than `base`.
//! - `history.R3`: count and bytes are within their limits after each push (one event is always kept). Expired events
//!   are dropped at most [`AGED_A_PUSH`] per push, and all of them by a trim.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::{Event, Revision};

/// The maximum number of events read or dropped per lock acquisition.
pub(super) const BATCH: usize = 1024;
/// Expired events dropped per push: more than one, so that dropping outpaces pushing.
const AGED_A_PUSH: usize = 16;
/// The number of newest events that keep their cached encodings.
const HOT: usize = 1024;
/// Events older than this lose their cached encodings when the history is trimmed: watchers that keep up have sent
/// them by then.
const COOL_AGE: Duration = Duration::from_secs(10);

/// Limits of the history of each collection. The first one reached applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Maximum number of events. One is always kept.
    pub events: usize,
    /// Maximum size in bytes of the events and of the states that only the history keeps alive.
    pub bytes: usize,
    /// Maximum age of an event.
    pub age: Duration,
}

impl HistoryLimits {
    /// Default maximum of events per collection: the largest size of kube-apiserver's watch cache.
    pub const EVENTS: usize = 102_400;
    /// Default maximum of bytes per collection: 16,000 updates of an 8 KB pod.
    pub const BYTES: usize = 128 << 20;
    /// Default maximum age: five minutes, the compaction interval of kube-apiserver, and longer than a client takes
    /// to request the next page or to reopen a watch.
    pub const AGE: Duration = Duration::from_secs(300);
}

/// [`EVENTS`](Self::EVENTS), [`BYTES`](Self::BYTES) and [`AGE`](Self::AGE).
impl Default for HistoryLimits {
    fn default() -> Self {
        Self { events: Self::EVENTS, bytes: Self::BYTES, age: Self::AGE }
    }
}

/// Dropped events, to be freed after the lock is released.
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
    /// history.R2: the sequence number of the first slot.
    base: u64,
    /// `history.R1`.
    floor: Revision,
    bytes: usize,
}

impl History {
    pub(super) fn new(limits: HistoryLimits, floor: Revision) -> Self {
        Self { limits, slots: VecDeque::new(), base: 0, floor, bytes: 0 }
    }

    /// Returns the oldest revision that can be read or watched from.
    pub(super) fn floor(&self) -> Revision {
        self.floor
    }

    /// Returns the sequence number of the next event.
    pub(super) fn end(&self) -> u64 {
        self.base + self.slots.len() as u64
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the sequence number of the first event after a revision.
    pub(super) fn first_after(&self, revision: Revision) -> u64 {
        // Nearly always the end: a watcher has just listed.
        let newer = |slot: &Slot| slot.event.revision() > revision;
        match self.slots.back() {
            Some(last) if newer(last) => self.base + self.slots.partition_point(|slot| !newer(slot)) as u64,
            _ => self.end(),
        }
    }

    /// Returns at most [`BATCH`] events from a sequence number on, or `None` if some of them have been dropped
    /// (`history.R2`).
    pub(super) fn from(&self, sequence: u64) -> Option<impl Iterator<Item = &Arc<Event>>> {
        let skip = usize::try_from(sequence.checked_sub(self.base)?).ok()?.min(self.slots.len());
        Some(self.slots.range(skip..).take(BATCH).map(|slot| &slot.event))
    }

    /// Appends the newest event.
    pub(super) fn push(&mut self, event: Arc<Event>, now: Instant) -> Dropped {
        debug_assert!(
            self.slots.back().is_none_or(|last| last.event.revision() < event.revision()),
            "history.R1"
        );
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

    /// Drops at most [`BATCH`] expired events, and returns whether none are left.
    pub(super) fn trim(&mut self, now: Instant) -> (Dropped, bool) {
        let mut dropped = Vec::new();
        while dropped.len() < BATCH && self.is_aged(now) {
            dropped.extend(self.pop());
        }
        let done = !self.is_aged(now);
        (Dropped(dropped), done)
    }

    /// Drops the encodings of at most [`BATCH`] events from a sequence number on. Returns the number to continue
    /// from, or `None` once the remaining events are younger than [`COOL_AGE`].
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

    /// Drops at most [`BATCH`] events up to a revision, and returns whether none are left.
    pub(super) fn compact(&mut self, revision: Revision) -> (Dropped, bool) {
        let is_before = |slot: &Slot| slot.event.revision() <= revision;
        let mut dropped = Vec::new();
        while dropped.len() < BATCH && self.slots.front().is_some_and(is_before) {
            dropped.extend(self.pop());
        }
        let done = !self.slots.front().is_some_and(is_before);
        if done {
            self.floor = self.floor.max(revision); // history.R1
        }
        (Dropped(dropped), done)
    }

    fn pop(&mut self) -> Option<Arc<Event>> {
        let slot = self.slots.pop_front()?;
        self.base += 1;
        self.bytes -= slot.bytes;
        self.floor = self.floor.max(slot.event.revision()); // history.R1
        Some(slot.event)
    }

    fn is_over(&self) -> bool {
        self.slots.len() > 1 && (self.slots.len() > self.limits.events || self.bytes > self.limits.bytes) // history.R3
    }

    fn is_aged(&self, now: Instant) -> bool {
        self.slots.front().is_some_and(|slot| now.saturating_duration_since(slot.time) > self.limits.age)
    }

    /// Replaces an event by a copy without encodings, and returns the original, which watchers may still be sending.
    fn cool(&mut self, place: usize) -> Option<Arc<Event>> {
        let slot = self.slots.get_mut(place)?;
        let cold = slot.event.cooled()?;
        Some(std::mem::replace(&mut slot.event, Arc::new(cold)))
    }
}
