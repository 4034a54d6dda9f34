//! Memory store: keeps everything in memory and runs nothing in the background.
//!
//! Input: the methods of [`Store`].
//! Output: their results, and a [`MemoryWatch`] per watcher.
//!
//! Each collection is a [`CollectionStore`]: live objects, history, one lock. All collections share the revision counter, which
//! advances under the lock of the collection that changes.
//!
//! **Live objects** are a sorted map with copy-on-write clones (see [`snapshot`]). A list copies one pointer under the
//! lock and reads without it; a write copies a path of nodes only while a list still holds them. Unlike with a plain
//! map, a list of 20,000 objects does not block writers.
//!
//! **Old revisions** are not kept as maps. The state at a revision is the newest state with the later changes undone;
//! this is exact because each event holds the state it replaced. Paging avoids the cost: up to [`collection_store::REMEMBERED`]
//! states that a limit cut off are kept until the history has moved past them.
//!
//! **Watchers** read the history directly. A watcher is a cursor without a queue: a thousand watchers cost the writer
//! a thousand wakeups and nothing else, and a slow watcher loses its own position without delaying others.
//!
//! Invariants:
//! - `memory.M1`: a revision is allocated while the lock of its collection is held, and its change is visible when
//!   the lock is released. So a reader that sees revision n sees all changes of the collection up to n.
//! - `memory.M2`: under a lock nothing is awaited or encoded, no caller's code runs, and the work is bounded: one
//!   object, one path of map nodes, or [`history::BATCH`] events (more only if a large body pushes many small
//!   events out of the history).
//! - `memory.M3`: the history of a collection is within its limits after every write.

mod collection_store;
mod history;
mod restore;
mod snapshot;
mod watch;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use tokio::sync::Notify;
use tokio::time::Instant;
use watchkeeper_core::ObjectKey;

pub(super) use collection_store::Change;
use collection_store::CollectionStore;
pub use history::HistoryLimits;
pub(super) use restore::Restore;
pub(super) use snapshot::Snapshot;
use watch::MemoryWatch;

use super::{
    BoxWatch, CollectionId, Precondition, Range, RangeQuery, ReadError, Revision, Store, StoreFuture, Stored,
    Unversioned, WatchError, WatchQuery, WriteError,
};

/// A store that keeps everything in memory.
///
/// Uses tokio's clock, so a test can pause it.
#[derive(Debug)]
pub struct MemoryStore {
    limits: HistoryLimits,
    counter: Arc<Counter>,
    /// Locked before a collection's lock, never while one is held.
    collections: RwLock<Collections>,
}

#[derive(Debug)]
struct Collections {
    by_collection: HashMap<CollectionId, Arc<CollectionStore>>,
    /// The floor of new collections: one that was never written has no older state either.
    compacted: Revision,
}

/// The revision of the newest change (`store.T1`), and a notification for waiters when it grows.
#[derive(Debug)]
struct Counter {
    newest: AtomicU64,
    grown: Notify,
}

impl Counter {
    /// Returns the newest revision.
    fn newest(&self) -> Revision {
        Revision::new(self.newest.load(Ordering::SeqCst))
    }

    /// Allocates the revision of the change in progress. `memory.M1`: the collection is locked.
    fn allocate(&self) -> Revision {
        Revision::new(self.newest.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// Sets the revision of the change in progress, which must be the next one. `memory.M1`: the collection is
    /// locked.
    fn advance(&self, revision: Revision) {
        let before = self.newest.swap(revision.get(), Ordering::SeqCst);
        debug_assert_eq!(before + 1, revision.get(), "store.T1");
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(HistoryLimits::default())
    }
}

impl MemoryStore {
    /// Creates an empty store at [`Revision::FIRST`].
    pub fn new(limits: HistoryLimits) -> Self {
        Self::beginning_at(limits, Revision::FIRST)
    }

    fn beginning_at(limits: HistoryLimits, revision: Revision) -> Self {
        let counter = Counter { newest: AtomicU64::new(revision.get()), grown: Notify::new() };
        let collections = Collections { by_collection: HashMap::new(), compacted: revision };
        Self { limits, counter: Arc::new(counter), collections: RwLock::new(collections) }
    }

    /// Applies a change that was decided on the current state, at the next revision: for a store that persists
    /// changes first and is the only writer. Returns what the write returns.
    pub(super) fn apply(&self, collection: &CollectionId, change: Change, now: Instant) -> Arc<Stored> {
        self.collection_store(collection).apply(change, now)
    }

    /// Returns the object stored under a key.
    pub(super) fn newest_of(&self, collection: &CollectionId, key: &ObjectKey) -> Option<Arc<Stored>> {
        self.collection_store(collection).get(key)
    }

    /// Returns the revision of the newest change.
    pub(super) fn newest(&self) -> Revision {
        self.counter.newest()
    }

    /// Returns all live objects. They are at one revision only if no write is in progress.
    pub(super) fn live(&self) -> Vec<(CollectionId, Snapshot)> {
        let collections: Vec<_> = self
            .collections
            .read()
            .by_collection
            .iter()
            .map(|(name, collection_store)| (name.clone(), collection_store.clone()))
            .collect();
        collections.into_iter().map(|(name, collection_store)| (name, collection_store.live())).collect()
    }

    /// Drops expired events, and encodings that are unlikely to be needed again. Each write does a little of this for
    /// its own collection; call it about once a minute for the others. Locks are held only for short steps.
    pub fn trim(&self) {
        let now = Instant::now();
        let collections: Vec<_> = self.collections.read().by_collection.values().cloned().collect();
        for collection_store in collections {
            collection_store.trim(now);
        }
    }

    fn collection_store(&self, collection: &CollectionId) -> Arc<CollectionStore> {
        if let Some(collection_store) = self.collections.read().by_collection.get(collection) {
            return collection_store.clone();
        }
        let mut collections = self.collections.write();
        let compacted = collections.compacted;
        let new = || {
            Arc::new(CollectionStore::new(self.limits, compacted, Snapshot::default(), self.counter.clone()))
        };
        collections.by_collection.entry(collection.clone()).or_insert_with(new).clone()
    }

    fn compact_now(&self, revision: Revision) -> Result<(), ReadError> {
        let current = self.counter.newest();
        if revision > current {
            return Err(ReadError::Future { asked: revision, current });
        }
        let mut collections = self.collections.write();
        collections.compacted = collections.compacted.max(revision);
        let all: Vec<_> = collections.by_collection.values().cloned().collect();
        drop(collections); // collections created from here on begin at the new floor
        for collection_store in all {
            collection_store.compact(revision);
        }
        Ok(())
    }

    /// Returns the number of events in the history of a collection.
    #[cfg(test)]
    pub(super) fn history_len(&self, collection: &CollectionId) -> usize {
        self.collection_store(collection).history_len()
    }

    /// Returns the number of states of a collection kept for paging.
    #[cfg(test)]
    pub(super) fn remembered(&self, collection: &CollectionId) -> usize {
        self.collection_store(collection).remembered()
    }
}

impl Store for MemoryStore {
    fn get<'a>(
        &'a self,
        collection: &'a CollectionId,
        key: &'a ObjectKey,
    ) -> StoreFuture<'a, Result<Option<Arc<Stored>>, ReadError>> {
        Box::pin(async move { Ok(self.collection_store(collection).get(key)) })
    }

    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Result<Range, ReadError>> {
        Box::pin(async move { self.collection_store(&query.collection).range(&query) })
    }

    fn put<'a>(
        &'a self,
        collection: &'a CollectionId,
        value: Unversioned,
        expect: Precondition,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>> {
        Box::pin(async move { self.collection_store(collection).put(&value, expect) })
    }

    fn delete<'a>(
        &'a self,
        collection: &'a CollectionId,
        key: &'a ObjectKey,
        at: Option<Revision>,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>> {
        Box::pin(async move { self.collection_store(collection).delete(key, at) })
    }

    fn watch(&self, query: WatchQuery) -> StoreFuture<'_, Result<BoxWatch, WatchError>> {
        Box::pin(async move {
            let collection_store = self.collection_store(&query.collection);
            let watch = MemoryWatch::open(collection_store, query.namespace, query.after)?;
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
                let grown = self.counter.grown.notified(); // registered before the check, so that no change is missed
                let newest = self.counter.newest();
                if newest >= revision {
                    return Ok(newest);
                }
                grown.await;
            }
        })
    }
}
