//! The store of one collection: the objects and history of one collection, behind one lock.
//!
//! Input: [`MemoryStore`](super::MemoryStore), which forwards the reads and writes of one collection.
//! Output: [`MemoryWatch`](super::MemoryWatch), which reads the history and waits on `changed`.
//!
//! Logic that needs the lock is in `impl State`. Dropped values are returned and freed after the lock is released;
//! watchers are woken after it too.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::Notify;
use tokio::time::Instant;
use watchkeeper_core::ObjectKey;

use super::Counter;
use super::history::{BATCH, Dropped, History, HistoryLimits};
use super::snapshot::Snapshot;
use crate::{Event, Precondition, Range, RangeQuery, ReadError, Revision, Stored, Unversioned, WriteError};

/// The maximum number of states kept for paging.
pub(super) const REMEMBERED: usize = 16;

#[derive(Debug)]
pub(super) struct CollectionStore {
    state: RwLock<State>,
    /// Notified after every change.
    changed: Arc<Notify>,
    counter: Arc<Counter>,
}

#[derive(Debug)]
struct State {
    live: Snapshot,
    history: History,
    /// Partially read states, by revision. None is older than the history, so the memory that only they keep alive is
    /// bounded like the history.
    remembered: BTreeMap<Revision, Snapshot>,
}

/// A change that has already been decided.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// Stores this state at its own revision.
    Put(Arc<Stored>),
    /// Deletes the object, which exists.
    Delete {
        /// Its last state.
        last: Arc<Stored>,
        /// The revision of the deletion.
        revision: Revision,
    },
}

/// Memory released by a write, to be freed after the lock.
type Freed = (Dropped, Vec<Snapshot>);

/// The result of reading from a watcher's cursor.
pub(super) enum Taken {
    /// Events in scope, possibly none, and the cursor after them.
    Events(Vec<Arc<Event>>, u64),
    /// Nothing new.
    Nothing,
    /// The cursor has lagged. Holds the oldest revision of the history.
    Lagged(Revision),
}

impl CollectionStore {
    pub(super) fn new(limits: HistoryLimits, floor: Revision, live: Snapshot, counter: Arc<Counter>) -> Self {
        let history = History::new(limits, floor);
        let state = State { live, history, remembered: BTreeMap::new() };
        Self { state: RwLock::new(state), changed: Arc::default(), counter }
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<Arc<Stored>> {
        self.state.read().live.get(key).cloned()
    }

    pub(super) fn put(&self, value: &Unversioned, expect: Precondition) -> Result<Arc<Stored>, WriteError> {
        let now = Instant::now();
        let (stored, _freed) = self.state.write().put(&self.counter, value, expect, now)?;
        self.wake();
        Ok(stored)
    }

    pub(super) fn delete(&self, key: &ObjectKey, at: Option<Revision>) -> Result<Arc<Stored>, WriteError> {
        let now = Instant::now();
        let (event, _freed) = self.state.write().delete(&self.counter, key, at, now)?;
        self.wake();
        Ok(event.departed().expect("a deletion has a previous state").clone())
    }

    /// Applies a change that was decided on the current state.
    pub(super) fn apply(&self, change: Change, now: Instant) -> Arc<Stored> {
        let (stored, _freed) = self.state.write().apply(&self.counter, change, now);
        self.wake();
        stored
    }

    /// Returns all live objects.
    pub(super) fn live(&self) -> Snapshot {
        self.state.read().live.clone()
    }

    pub(super) fn range(&self, query: &RangeQuery) -> Result<Range, ReadError> {
        let (snapshot, revision) = match query.at {
            None => {
                let state = self.state.read();
                (state.live.clone(), self.counter.newest()) // memory.M1
            }
            Some(revision) => (self.snapshot_at(revision)?, revision),
        };
        let (first, end) = match &query.namespace {
            Some(namespace) => (format!("{namespace}/"), Some(format!("{namespace}0"))), // '0' is the byte after '/'
            None => (String::new(), None),
        };
        let from = query.start.as_deref().unwrap_or_default().max(&first);
        let limit = query.limit.map_or(usize::MAX, Into::into);
        let (items, remaining) = snapshot.range(from, end.as_deref(), limit);
        if remaining > 0 && !self.state.read().remembered.contains_key(&revision) {
            let _dropped = self.state.write().remember(revision, snapshot);
        }
        Ok(Range { items, revision, remaining })
    }

    /// Returns the state at a revision (`store.T3`): a kept one, or the nearest later one with the changes since then
    /// undone.
    fn snapshot_at(&self, revision: Revision) -> Result<Snapshot, ReadError> {
        let state = self.state.read();
        let current = self.counter.newest(); // memory.M1
        if revision > current {
            return Err(ReadError::Future { asked: revision, current });
        }
        if revision < state.history.floor() {
            return Err(state.compacted(revision));
        }
        let later = state.remembered.range(revision..).next();
        let (base, nearest) = later.map_or((current, &state.live), |(base, found)| (*base, found));
        let (mut cursor, end) = (state.history.first_after(revision), state.history.first_after(base));
        let mut snapshot = nearest.clone();
        drop(state);

        let mut undo: Vec<Arc<Event>> = Vec::new();
        while cursor < end {
            let state = self.state.read();
            let Some(events) = state.history.from(cursor) else { return Err(state.compacted(revision)) };
            let next = end.min(cursor + BATCH as u64);
            undo.extend((cursor..next).zip(events).map(|(_, event)| event.clone()));
            cursor = next;
        }
        for event in undo.iter().rev() {
            match event.previous() {
                Some(previous) => drop(snapshot.insert(previous.clone())),
                None => drop(snapshot.remove(event.key())),
            }
        }
        Ok(snapshot)
    }

    /// Returns the cursor after a revision, or the oldest revision if that is too old.
    pub(super) fn cursor_after(&self, revision: Revision) -> Result<u64, Revision> {
        let state = self.state.read();
        match state.history.floor() {
            floor if revision < floor => Err(floor),
            _ => Ok(state.history.first_after(revision)),
        }
    }

    /// Returns the events in scope from a cursor on, at most one batch.
    pub(super) fn take(&self, cursor: u64, in_scope: impl Fn(&Event) -> bool) -> Taken {
        let state = self.state.read();
        let Some(events) = state.history.from(cursor) else { return Taken::Lagged(state.history.floor()) };
        let mut next = cursor;
        let mut taken = Vec::new();
        for event in events {
            next += 1;
            if in_scope(event) {
                taken.push(event.clone());
            }
        }
        if next == cursor { Taken::Nothing } else { Taken::Events(taken, next) }
    }

    /// Returns the revision up to which a cursor has seen everything, or `None` if it has lagged.
    pub(super) fn progress(&self, cursor: u64) -> Option<Revision> {
        let state = self.state.read();
        let next = state.history.from(cursor)?.next().map(|event| event.revision().before());
        Some(next.unwrap_or_else(|| self.counter.newest())) // memory.M1
    }

    pub(super) fn changed(&self) -> &Arc<Notify> {
        &self.changed
    }

    pub(super) fn compact(&self, revision: Revision) {
        self.drop_in_steps(|history| history.compact(revision));
    }

    pub(super) fn trim(&self, now: Instant) {
        self.drop_in_steps(|history| history.trim(now));
        let mut next = Some(0);
        while let Some(sequence) = next {
            let (_cooled, rest) = self.state.write().history.cool_from(sequence, now);
            next = rest;
        }
    }

    /// Drops events one batch per lock (`memory.M2`), then wakes watchers, some of which may have lagged.
    fn drop_in_steps(&self, step: impl Fn(&mut History) -> (Dropped, bool)) {
        loop {
            let mut state = self.state.write();
            let (dropped, done) = step(&mut state.history);
            let forgotten = state.forget();
            drop(state);
            drop((dropped, forgotten));
            if done {
                break;
            }
        }
        self.changed.notify_waiters();
    }

    fn wake(&self) {
        self.changed.notify_waiters();
        self.counter.grown.notify_waiters();
    }

    #[cfg(test)]
    pub(super) fn history_len(&self) -> usize {
        self.state.read().history.len()
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.state.read().remembered.len()
    }
}

impl State {
    fn put(
        &mut self,
        counter: &Counter,
        value: &Unversioned,
        expect: Precondition,
        now: Instant,
    ) -> Result<(Arc<Stored>, Freed), WriteError> {
        let existing = self.live.get(value.key());
        let as_expected = expect.allows(existing.map(|existing| &**existing));
        if !as_expected {
            return Err(WriteError::Conflict { current: existing.cloned() });
        }
        let revision = counter.allocate(); // memory.M1
        let created = existing.map_or(revision, |existing| existing.created());
        let stored = Arc::new(value.commit(created, revision));
        let previous = self.live.insert(stored.clone());
        Ok((stored.clone(), self.record(Arc::new(Event::put(previous, stored)), now)))
    }

    fn delete(
        &mut self,
        counter: &Counter,
        key: &ObjectKey,
        at: Option<Revision>,
        now: Instant,
    ) -> Result<(Arc<Event>, Freed), WriteError> {
        let existing = self.live.get(key);
        let as_expected = existing.is_some_and(|existing| at.is_none_or(|at| existing.modified() == at));
        let removed = if as_expected { self.live.remove(key) } else { None };
        let Some(previous) = removed else {
            return Err(WriteError::Conflict { current: self.live.get(key).cloned() });
        };
        let event = Arc::new(Event::delete(previous, counter.allocate())); // memory.M1
        Ok((event.clone(), self.record(event, now)))
    }

    fn apply(&mut self, counter: &Counter, change: Change, now: Instant) -> (Arc<Stored>, Freed) {
        match change {
            Change::Put(stored) => {
                counter.advance(stored.modified()); // memory.M1
                let previous = self.live.insert(stored.clone());
                (stored.clone(), self.record(Arc::new(Event::put(previous, stored)), now))
            }
            Change::Delete { last, revision } => {
                counter.advance(revision); // memory.M1
                let removed = self.live.remove(last.key());
                debug_assert_eq!(removed.as_ref(), Some(&last), "decided on what is here");
                let event = Arc::new(Event::delete(last, revision));
                let departed = event.departed().expect("a deletion has a previous state").clone();
                (departed, self.record(event, now))
            }
        }
    }

    fn record(&mut self, event: Arc<Event>, now: Instant) -> Freed {
        (self.history.push(event, now), self.forget())
    }

    fn compacted(&self, asked: Revision) -> ReadError {
        ReadError::Compacted { asked, oldest: self.history.floor() }
    }

    fn remember(&mut self, revision: Revision, snapshot: Snapshot) -> Vec<Snapshot> {
        let mut dropped = vec![];
        dropped.extend(self.remembered.insert(revision, snapshot));
        dropped.extend(self.forget());
        if self.remembered.len() > REMEMBERED {
            dropped.extend(self.remembered.pop_first().map(|(_, snapshot)| snapshot));
        }
        dropped
    }

    /// Removes the kept states that are older than the history.
    fn forget(&mut self) -> Vec<Snapshot> {
        let floor = self.history.floor();
        let mut old = Vec::new();
        while self.remembered.first_key_value().is_some_and(|(revision, _)| *revision < floor) {
            old.extend(self.remembered.pop_first().map(|(_, snapshot)| snapshot));
        }
        old
    }
}
