//! State: all objects at one moment, and how they are found.
//!
//! - S1: every index has exactly the values of the objects that are there: what is put or removed brings all of
//!   them along.

use std::sync::Arc;

use watchkeeper_core::{Object, ObjectKey, ResourceVersion};

use super::index::{Index, IndexExists};
use super::postings::Postings;
use super::sizes::Sizes;
use crate::map::Map;

/// Objects, and where they stand in each index. Clones share what they have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) objects: Map<ObjectKey, Arc<Object>>,
    /// By `key=value`.
    pub(super) labels: Postings,
    /// By the uid of each owner.
    pub(super) owners: Postings,
    pub(super) named: Vec<(Index, Postings)>,
    pub(super) version: ResourceVersion,
    sizes: Sizes,
}

impl State {
    /// Puts an object where the one of its key was; returns that.
    pub(super) fn put(&mut self, object: &Arc<Object>) -> Option<Arc<Object>> {
        let key = object.head.key().clone();
        let old = self.objects.insert(key, object.clone());
        self.sizes.add(object);
        if let Some(old) = &old {
            self.sizes.subtract(old);
        }
        self.index(old.as_deref(), Some(object));
        old
    }

    /// Takes an object out; returns it.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Object>> {
        let old = self.objects.remove(key)?;
        self.sizes.subtract(&old);
        self.index(Some(&old), None);
        Some(old)
    }

    /// Adds an index over what is there.
    pub(super) fn add_index(&mut self, index: Index) -> Result<(), IndexExists> {
        if self.named.iter().any(|(other, _)| other.name == index.name) {
            return Err(IndexExists { name: index.name.to_string() });
        }
        let mut postings = Postings::default();
        for (key, object) in self.objects.iter() {
            index.by.values(object, &mut |value| postings.add(value, key));
        }
        self.named.push((index, postings));
        Ok(())
    }

    /// How large all of it is.
    pub(super) fn sizes(&self) -> Sizes {
        let named: usize = self.named.iter().map(|(_, postings)| postings.heap_bytes()).sum();
        let indexes = self.labels.heap_bytes() + self.owners.heap_bytes() + named;
        let entries = self.objects.len() * size_of::<(ObjectKey, Arc<Object>)>();
        Sizes { objects: self.objects.len(), entries, indexes, ..self.sizes }
    }

    fn index(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let Some(either) = new.or(old) else { return };
        let key = either.head.key();
        let labels = |object: &Object| -> Vec<String> {
            object.head.labels().map(|(key, value)| format!("{key}={value}")).collect()
        };
        let owners = |object: &Object| -> Vec<String> {
            object.head.owners().map(|owner| owner.uid.to_owned()).collect()
        };
        let same_labels =
            matches!((old, new), (Some(old), Some(new)) if old.head.labels().eq(new.head.labels()));
        if !same_labels {
            moved(&mut self.labels, key, old.map(labels), new.map(labels));
        }
        let same_owners =
            matches!((old, new), (Some(old), Some(new)) if old.head.owners().eq(new.head.owners()));
        if !same_owners {
            moved(&mut self.owners, key, old.map(owners), new.map(owners));
        }
        for (index, postings) in &mut self.named {
            let values = |object: &Object| {
                let mut values = Vec::new();
                index.by.values(object, &mut |value| values.push(value.to_owned()));
                values
            };
            moved(postings, key, old.map(values), new.map(values));
        }
    }
}

/// Moves a key from the values that it had to those that it has.
fn moved(postings: &mut Postings, key: &ObjectKey, old: Option<Vec<String>>, new: Option<Vec<String>>) {
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    if old == new {
        return;
    }
    for value in old.iter().filter(|value| !new.contains(value)) {
        postings.remove(value, key);
    }
    for value in new.iter().filter(|value| !old.contains(value)) {
        postings.add(value, key);
    }
}
