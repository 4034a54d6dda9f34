//! Table: a map of objects with its added indexes.

use std::sync::Arc;

use watchkeeper_core::ObjectKey;
use watchkeeper_map::OrdMap;

use super::index::{Index, IndexExists, UnknownIndex};
use super::postings::Postings;

/// Objects by key, with their entries in each added index. Clones share structure.
#[derive(Debug)]
pub(super) struct Table<T> {
    objects: OrdMap<ObjectKey, Arc<T>>,
    indexes: Vec<(Index<T>, Postings)>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { objects: OrdMap::default(), indexes: Vec::new() }
    }
}

impl<T> Clone for Table<T> {
    fn clone(&self) -> Self {
        Self { objects: self.objects.clone(), indexes: self.indexes.clone() }
    }
}

impl<T> Table<T> {
    pub(super) fn objects(&self) -> &OrdMap<ObjectKey, Arc<T>> {
        &self.objects
    }

    /// Inserts an object, and returns the one it replaces.
    pub(super) fn put(&mut self, key: &ObjectKey, object: &Arc<T>) -> Option<Arc<T>> {
        let old = self.objects.insert(key.clone(), object.clone());
        for (index, postings) in &mut self.indexes {
            let before = old.as_deref().map(|old| index.values(old)).unwrap_or_default();
            postings.move_key(key, &before, &index.values(object));
        }
        old
    }

    /// Removes and returns an object.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<T>> {
        let old = self.objects.remove(key)?;
        for (index, postings) in &mut self.indexes {
            postings.move_key(key, &index.values(&old), &[]);
        }
        Some(old)
    }

    /// Adds an index, and fills it from the objects present.
    pub(super) fn add_index(&mut self, index: Index<T>) -> Result<(), IndexExists> {
        if self.indexes.iter().any(|(other, _)| other.name == index.name) {
            return Err(IndexExists { name: index.name.to_string() });
        }
        let mut postings = Postings::default();
        for (key, object) in &self.objects {
            postings.move_key(key, &[], &index.values(object));
        }
        self.indexes.push((index, postings));
        Ok(())
    }

    /// Returns the objects with this index value, in key order.
    pub(super) fn by_index(
        &self,
        name: &str,
        value: &str,
    ) -> Result<impl Iterator<Item = &Arc<T>>, UnknownIndex> {
        let keys = self.index(name)?.keys(value);
        Ok(keys.filter_map(|key| self.objects.get(key)))
    }

    /// Returns all values of an index, in order.
    pub(super) fn index_values(&self, name: &str) -> Result<impl Iterator<Item = &str>, UnknownIndex> {
        Ok(self.index(name)?.values())
    }

    /// Returns the added indexes with their names.
    pub(super) fn postings(&self) -> impl Iterator<Item = (&str, &Postings)> {
        self.indexes.iter().map(|(index, postings)| (&*index.name, postings))
    }

    /// Returns the approximate memory of the added indexes, in bytes.
    pub(super) fn index_bytes(&self) -> usize {
        self.indexes.iter().map(|(_, postings)| postings.heap_bytes()).sum()
    }

    fn index(&self, name: &str) -> Result<&Postings, UnknownIndex> {
        let found = self.indexes.iter().find(|(index, _)| *index.name == *name);
        found.map(|(_, postings)| postings).ok_or_else(|| UnknownIndex {
            name: name.to_owned(),
            known: self.indexes.iter().map(|(index, _)| index.name.to_string()).collect(),
        })
    }
}
