//! Restoring a store: the state it starts with, if not empty.
//!
//! Input: recovered objects, one at a time and in any order.
//! Output: a [`MemoryStore`] at their revision, whose history begins there.

use std::collections::HashMap;
use std::sync::Arc;

use watchkeeper_core::ObjectKey;

use super::snapshot::Snapshot;
use super::{HistoryLimits, MemoryStore};
use crate::{CollectionId, Revision, Stored};

/// The objects of a store that is being restored.
#[derive(Debug, Default)]
pub(crate) struct Restore {
    live: HashMap<CollectionId, Snapshot>,
}

impl Restore {
    /// Returns the object under a key.
    pub(crate) fn get(&self, collection: &CollectionId, key: &ObjectKey) -> Option<&Arc<Stored>> {
        self.live.get(collection)?.get(key)
    }

    /// Inserts an object, and returns the one it replaced.
    pub(crate) fn put(&mut self, collection: &CollectionId, stored: Arc<Stored>) -> Option<Arc<Stored>> {
        match self.live.get_mut(collection) {
            Some(live) => live.insert(stored),
            None => self.live.entry(collection.clone()).or_default().insert(stored),
        }
    }

    /// Removes an object.
    pub(crate) fn delete(&mut self, collection: &CollectionId, key: &ObjectKey) -> Option<Arc<Stored>> {
        self.live.get_mut(collection)?.remove(key)
    }

    /// Returns all objects, in key order within each collection.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (&CollectionId, Arc<Stored>)> {
        self.live
            .iter()
            .flat_map(|(collection, live)| live.objects().into_iter().map(move |stored| (collection, stored)))
    }

    /// Returns all objects by collection, sharing them.
    pub(crate) fn live(&self) -> Vec<(CollectionId, Snapshot)> {
        self.live.iter().map(|(collection, live)| (collection.clone(), live.clone())).collect()
    }

    /// Creates the store with these objects, none of which may be newer than `revision`.
    pub(crate) fn finish(self, limits: HistoryLimits, revision: Revision) -> MemoryStore {
        let mut store = MemoryStore::beginning_at(limits, revision);
        let collections = store.collections.get_mut();
        for (collection, live) in self.live {
            let collection_store = super::CollectionStore::new(limits, revision, live, store.counter.clone());
            collections.by_collection.insert(collection, Arc::new(collection_store));
        }
        store
    }
}
