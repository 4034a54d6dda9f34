//! State: the objects and indexes of one moment.

use std::sync::Arc;

use watchkeeper_core::{Object, ObjectKey, ResourceVersion};
use watchkeeper_map::OrdMap;

use super::postings::Postings;
use super::sizes::Sizes;
use super::table::Table;

/// The objects and their index entries (`store.S1`). Clones share structure.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) table: Table<Object>,
    /// Keyed by `label=value`.
    pub(super) labels: Postings,
    /// Keyed by owner UID.
    pub(super) owners: Postings,
    pub(super) version: ResourceVersion,
    sizes: Sizes,
}

impl State {
    pub(super) fn objects(&self) -> &OrdMap<ObjectKey, Arc<Object>> {
        self.table.objects()
    }

    /// Inserts an object, and returns the one it replaces.
    pub(super) fn put(&mut self, object: &Arc<Object>) -> Option<Arc<Object>> {
        let old = self.table.put(object.metadata.key(), object);
        self.sizes.add(object);
        if let Some(old) = &old {
            self.sizes.subtract(old);
        }
        self.index(object.metadata.key(), old.as_deref(), Some(object));
        old
    }

    /// Removes and returns an object.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Object>> {
        let old = self.table.remove(key)?;
        self.sizes.subtract(&old);
        self.index(key, Some(&old), None);
        Some(old)
    }

    /// Returns the memory in use.
    pub(super) fn sizes(&self) -> Sizes {
        let indexes = self.labels.heap_bytes() + self.owners.heap_bytes() + self.table.index_bytes();
        let entries = self.objects().len() * size_of::<(ObjectKey, Arc<Object>)>();
        Sizes { objects: self.objects().len(), entries, indexes, ..self.sizes }
    }

    /// Returns each index's name, number of values and number of entries.
    pub(super) fn index_counts(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        let own = [("by label", &self.labels), ("by owner", &self.owners)];
        let all = own.into_iter().chain(self.table.postings());
        all.map(|(name, postings)| (name, postings.values().count(), postings.len()))
    }

    /// Updates the label and owner indexes. Both rarely change, so unchanged ones are skipped.
    fn index(&mut self, key: &ObjectKey, old: Option<&Object>, new: Option<&Object>) {
        let labels = |object: Option<&Object>| -> Vec<String> {
            let labels = object.into_iter().flat_map(|object| object.metadata.labels());
            labels.map(|(key, value)| format!("{key}={value}")).collect()
        };
        let owners = |object: Option<&Object>| -> Vec<String> {
            let owners = object.into_iter().flat_map(|object| object.metadata.owner_references());
            owners.map(|owner| owner.uid.to_owned()).collect()
        };
        let both = old.zip(new).map(|(old, new)| (&old.metadata, &new.metadata));
        if !both.is_some_and(|(old, new)| old.labels().eq(new.labels())) {
            self.labels.move_key(key, &labels(old), &labels(new));
        }
        if !both.is_some_and(|(old, new)| old.owner_references().eq(new.owner_references())) {
            self.owners.move_key(key, &owners(old), &owners(new));
        }
    }
}
