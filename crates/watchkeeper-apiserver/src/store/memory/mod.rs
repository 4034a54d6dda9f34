//! Memory store: everything in memory, nothing in the background.
//!
//! From: the verbs of [`Store`].
//! To:   whoever awaits them; [`MemoryWatch`] for those who watch.
//!
//! Each collection is a [`Shelf`]: the live objects, the history, one lock. The revision counter is
//! shared by all shelves and is advanced under the lock of the shelf that changes.
//!
//! **Live objects** are a sorted map in chunks, shared by pointer (see [`snapshot`]). A list copies one
//! pointer under the lock and reads without it; a write copies a chunk only if a list still holds
//! it. Against a plain map that is read under the lock, a list of 20,000 objects does not keep a
//! writer waiting; against a fully persistent tree, a lookup is two binary searches.
//!
//! **Old revisions** are not kept as maps. The state at a revision is the newest state with the
//! changes since then undone, which the history can do exactly, as each event holds what it
//! replaced. Pages do not pay this: a state that was cut off by a limit is remembered, up to
//! [`shelf::REMEMBERED`] of them, until the history has passed it.
//!
//! **Watchers** read the history itself. A watcher is a cursor and no queue, so that a thousand cost the
//! writer a thousand wakings and nothing else, and a slow one loses its place and not ours.
//!
//! - M1: a revision is allocated while the lock of its shelf is held, and its change is there when the
//!   lock is released. So a reader of a shelf that sees revision n sees all of the shelf's changes
//!   up to n.
//! - M2: under a lock nothing is awaited or encoded, no caller's code runs, and the work is bounded:
//!   one object, one chunk and its directory, or [`history::BATCH`] events (more only where a large
//!   body pushes many small ones out of the history).
//! - M3: the history of a shelf is within its limits after every write.

mod history;
mod restore;
mod shelf;
mod snapshot;
mod watch;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use tokio::sync::Notify;
use tokio::time::Instant;
use watchkeeper_core::ObjectKey;

pub use history::HistoryLimits;
pub(super) use restore::Restore;
pub(super) use shelf::Change;
use shelf::Shelf;
pub(super) use snapshot::Snapshot;
use watch::MemoryWatch;

use super::{
    BoxWatch, Collection, Expect, Range, RangeQuery, ReadError, Revision, Store, StoreFuture, Stored,
    Unversioned, WatchError, WatchQuery, WriteError,
};

/// A store in memory.
///
/// Time is tokio's, so that a test with a paused clock drives it.
#[derive(Debug)]
pub struct MemoryStore {
    limits: HistoryLimits,
    counter: Arc<Counter>,
    /// Taken before the lock of a shelf, never while one is held.
    shelves: RwLock<Shelves>,
}

#[derive(Debug)]
struct Shelves {
    by_collection: HashMap<Collection, Arc<Shelf>>,
    /// New shelves begin here: a collection that was never written has no older state either.
    compacted: Revision,
}

/// The revision of the newest change (T1), and who waits for it to grow.
#[derive(Debug)]
struct Counter {
    newest: AtomicU64,
    grown: Notify,
}

impl Counter {
    /// The newest revision.
    fn newest(&self) -> Revision {
        Revision::new(self.newest.load(Ordering::SeqCst))
    }

    /// The revision of the change that is being made. M1: the shelf is locked.
    fn allocate(&self) -> Revision {
        Revision::new(self.newest.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// The change that is being made has this revision, which is the next. M1: the shelf is locked.
    fn advance(&self, revision: Revision) {
        let before = self.newest.swap(revision.get(), Ordering::SeqCst);
        debug_assert_eq!(before + 1, revision.get(), "T1");
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(HistoryLimits::default())
    }
}

impl MemoryStore {
    /// An empty store at [`Revision::FIRST`].
    pub fn new(limits: HistoryLimits) -> Self {
        Self::beginning_at(limits, Revision::FIRST)
    }

    fn beginning_at(limits: HistoryLimits, revision: Revision) -> Self {
        let counter = Counter { newest: AtomicU64::new(revision.get()), grown: Notify::new() };
        let shelves = Shelves { by_collection: HashMap::new(), compacted: revision };
        Self { limits, counter: Arc::new(counter), shelves: RwLock::new(shelves) }
    }

    /// Makes a change that has been decided on what is here, at the next revision: for a store that writes
    /// elsewhere first and is the only writer. Returns what the write returns.
    pub(super) fn apply(&self, collection: &Collection, change: Change, now: Instant) -> Arc<Stored> {
        self.shelf(collection).apply(change, now)
    }

    /// What is stored under a key.
    pub(super) fn newest_of(&self, collection: &Collection, key: &ObjectKey) -> Option<Arc<Stored>> {
        self.shelf(collection).get(key)
    }

    /// The revision of the newest change.
    pub(super) fn newest(&self) -> Revision {
        self.counter.newest()
    }

    /// All live objects. They are of one revision where nobody writes meanwhile.
    pub(super) fn live(&self) -> Vec<(Collection, Snapshot)> {
        let shelves: Vec<_> = self
            .shelves
            .read()
            .by_collection
            .iter()
            .map(|(name, shelf)| (name.clone(), shelf.clone()))
            .collect();
        shelves.into_iter().map(|(name, shelf)| (name, shelf.live())).collect()
    }

    /// Forgets what is too old, and the encodings that nobody is likely to ask for again. Writes do
    /// this for their own collection, a little each; call it about once a minute for the rest. It
    /// holds a lock only for short steps.
    pub fn trim(&self) {
        let now = Instant::now();
        let shelves: Vec<_> = self.shelves.read().by_collection.values().cloned().collect();
        for shelf in shelves {
            shelf.trim(now);
        }
    }

    fn shelf(&self, collection: &Collection) -> Arc<Shelf> {
        if let Some(shelf) = self.shelves.read().by_collection.get(collection) {
            return shelf.clone();
        }
        let mut shelves = self.shelves.write();
        let compacted = shelves.compacted;
        let new = || Arc::new(Shelf::new(self.limits, compacted, Snapshot::default(), self.counter.clone()));
        shelves.by_collection.entry(collection.clone()).or_insert_with(new).clone()
    }

    fn compact_now(&self, revision: Revision) -> Result<(), ReadError> {
        let current = self.counter.newest();
        if revision > current {
            return Err(ReadError::Future { asked: revision, current });
        }
        let mut shelves = self.shelves.write();
        shelves.compacted = shelves.compacted.max(revision);
        let all: Vec<_> = shelves.by_collection.values().cloned().collect();
        drop(shelves); // a shelf made from here on begins at the new floor
        for shelf in all {
            shelf.compact(revision);
        }
        Ok(())
    }

    /// How many events the history of a collection holds.
    #[cfg(test)]
    pub(super) fn history_len(&self, collection: &Collection) -> usize {
        self.shelf(collection).history_len()
    }

    /// How many states of a collection are remembered for paging.
    #[cfg(test)]
    pub(super) fn remembered(&self, collection: &Collection) -> usize {
        self.shelf(collection).remembered()
    }
}

impl Store for MemoryStore {
    fn get<'a>(
        &'a self,
        collection: &'a Collection,
        key: &'a ObjectKey,
    ) -> StoreFuture<'a, Result<Option<Arc<Stored>>, ReadError>> {
        Box::pin(async move { Ok(self.shelf(collection).get(key)) })
    }

    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Result<Range, ReadError>> {
        Box::pin(async move { self.shelf(&query.collection).range(&query) })
    }

    fn put<'a>(
        &'a self,
        collection: &'a Collection,
        value: Unversioned,
        expect: Expect,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>> {
        Box::pin(async move { self.shelf(collection).put(&value, expect) })
    }

    fn delete<'a>(
        &'a self,
        collection: &'a Collection,
        key: &'a ObjectKey,
        at: Option<Revision>,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>> {
        Box::pin(async move { self.shelf(collection).delete(key, at) })
    }

    fn watch(&self, query: WatchQuery) -> StoreFuture<'_, Result<BoxWatch, WatchError>> {
        Box::pin(async move {
            let shelf = self.shelf(&query.collection);
            let watch = MemoryWatch::open(shelf, query.namespace, query.after)?;
            Ok(Box::pin(watch) as BoxWatch)
        })
    }

    fn compact(&self, revision: Revision) -> StoreFuture<'_, Result<(), ReadError>> {
        Box::pin(async move { self.compact_now(revision) })
    }

    fn current(&self) -> StoreFuture<'_, Result<Revision, ReadError>> {
        Box::pin(async move { Ok(self.counter.newest()) })
    }

    fn wait_for(&self, revision: Revision) -> StoreFuture<'_, Result<Revision, ReadError>> {
        Box::pin(async move {
            loop {
                let grown = self.counter.grown.notified(); // before the look, so that nothing is missed
                let newest = self.counter.newest();
                if newest >= revision {
                    return Ok(newest);
                }
                grown.await;
            }
        })
    }
}
