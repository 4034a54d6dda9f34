//! State: all objects at one moment, and how they are found.

use std::sync::Arc;

use watchkeeper_core::{Object, ObjectKey, ResourceVersion};

use super::postings::Postings;
use super::sizes::Sizes;
use super::table::Table;
use crate::map::Map;

/// Objects, and where they stand in each index (S1). Clones share what they have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) table: Table<Object>,
    /// By `key=value`.
    pub(super) labels: Postings,
    /// By the uid of each owner.
    pub(super) owners: Postings,
    pub(super) version: ResourceVersion,
    sizes: Sizes,
}

impl State {
    pub(super) fn objects(&self) -> &Map<ObjectKey, Arc<Object>> {
        self.table.objects()
    }

    /// Puts an object where the one of its key was; returns that.
    pub(super) fn put(&mut self, object: &Arc<Object>) -> Option<Arc<Object>> {
        let old = self.table.put(object.metadata.key(), object);
        self.sizes.add(object);
        if let Some(old) = &old {
            self.sizes.subtract(old);
        }
        self.index(object.metadata.key(), old.as_deref(), Some(object));
        old
    }

    /// Takes an object out; returns it.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Object>> {
        let old = self.table.remove(key)?;
        self.sizes.subtract(&old);
        self.index(key, Some(&old), None);
        Some(old)
    }

    /// How large all of it is.
    pub(super) fn sizes(&self) -> Sizes {
        let indexes = self.labels.heap_bytes() + self.owners.heap_bytes() + self.table.index_bytes();
        let entries = self.objects().len() * size_of::<(ObjectKey, Arc<Object>)>();
        Sizes { objects: self.objects().len(), entries, indexes, ..self.sizes }
    }

    /// The name of every index, and how many values and entries it has.
    pub(super) fn index_counts(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        let own = [("by label", &self.labels), ("by owner", &self.owners)];
        let all = own.into_iter().chain(self.table.postings());
        all.map(|(name, postings)| (name, postings.values().count(), postings.len()))
    }

    /// Labels and owners seldom change: where they do not, nothing is written down.
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
