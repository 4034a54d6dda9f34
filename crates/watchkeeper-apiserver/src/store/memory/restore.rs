//! Restoring: the state that a store begins with, where it does not begin with nothing.
//!
//! From: whoever has kept the objects, one at a time and in any order of keys.
//! To:   a [`MemoryStore`] at their revision. What was before it has left the history.

use std::collections::HashMap;
use std::sync::Arc;

use watchkeeper_core::ObjectKey;

use super::snapshot::Snapshot;
use super::{HistoryLimits, MemoryStore};
use crate::store::{Collection, Revision, Stored};

/// The objects of a store that is not there yet.
#[derive(Debug, Default)]
pub(in crate::store) struct Restore {
    live: HashMap<Collection, Snapshot>,
}

impl Restore {
    /// The object under a key.
    pub(in crate::store) fn get(&self, collection: &Collection, key: &ObjectKey) -> Option<&Arc<Stored>> {
        self.live.get(collection)?.get(key)
    }

    /// Puts an object in its place, and returns what was there.
    pub(in crate::store) fn put(
        &mut self,
        collection: &Collection,
        stored: Arc<Stored>,
    ) -> Option<Arc<Stored>> {
        match self.live.get_mut(collection) {
            Some(live) => live.insert(stored),
            None => self.live.entry(collection.clone()).or_default().insert(stored),
        }
    }

    /// Takes an object out.
    pub(in crate::store) fn delete(
        &mut self,
        collection: &Collection,
        key: &ObjectKey,
    ) -> Option<Arc<Stored>> {
        self.live.get_mut(collection)?.remove(key)
    }

    /// All objects, in the order of their keys within their collections.
    pub(in crate::store) fn objects(&self) -> impl Iterator<Item = (&Collection, Arc<Stored>)> {
        self.live
            .iter()
            .flat_map(|(collection, live)| live.objects().into_iter().map(move |stored| (collection, stored)))
    }

    /// All objects, by collection. It shares them.
    pub(in crate::store) fn live(&self) -> Vec<(Collection, Snapshot)> {
        self.live.iter().map(|(collection, live)| (collection.clone(), live.clone())).collect()
    }

    /// The store with these objects, none of which is newer than `revision`.
    pub(in crate::store) fn finish(self, limits: HistoryLimits, revision: Revision) -> MemoryStore {
        let mut store = MemoryStore::beginning_at(limits, revision);
        let shelves = store.shelves.get_mut();
        for (collection, live) in self.live {
            let shelf = super::Shelf::new(limits, revision, live, store.counter.clone());
            shelves.by_collection.insert(collection, Arc::new(shelf));
        }
        store
    }
}
