//! Stage: a list that has not been committed yet.
//!
//! Invariants:
//! - `stage.G1`: an object that the store already has in the same version is only marked as seen, so that relisting
//!   unchanged objects takes no memory for bodies.
//! - `stage.G2`: the last state staged for a key wins; a key that was removed is not committed.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use watchkeeper_core::{Object, ObjectKey, ResourceVersion};

use super::state::State;
use crate::delta::Delta;

#[derive(Debug, Default)]
pub(super) struct Stage {
    seen: HashSet<ObjectKey>,
    /// In key order, which is the order of the resulting deltas.
    changed: BTreeMap<ObjectKey, Arc<Object>>,
}

impl Stage {
    pub(super) fn add(&mut self, object: Object, current: &State) {
        let key = object.metadata.key().clone();
        match current.objects().get(&key) {
            Some(known) if is_same(known, &object) => {
                self.changed.remove(&key);
            }
            _ => {
                self.changed.insert(key.clone(), Arc::new(object));
            }
        }
        self.seen.insert(key);
    }

    /// Keeps the stored or already staged state of the key.
    pub(super) fn add_as_it_was(&mut self, key: &ObjectKey, current: &State) {
        if current.objects().get(key).is_some() {
            self.seen.insert(key.clone());
        }
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        self.seen.remove(key);
        self.changed.remove(key);
    }

    /// Replaces the contents of `state` with the staged objects. Returns the resulting deltas, deletions first.
    pub(super) fn commit(
        self,
        state: &mut State,
        version: ResourceVersion,
        initial: bool,
    ) -> Vec<Delta<Arc<Object>>> {
        let gone: Vec<ObjectKey> = state
            .objects()
            .iter()
            .filter(|(key, _)| !self.seen.contains(key))
            .map(|(key, _)| key.clone())
            .collect();
        let mut deleted: Vec<_> =
            gone.iter().filter_map(|key| state.remove(key)).map(Delta::missed).collect();
        let mut changed = Vec::with_capacity(self.changed.len());
        for (_, new) in self.changed {
            match state.put(&new) {
                None => changed.push(Delta::Added { new, initial }),
                Some(old) if old.metadata.uid() == new.metadata.uid() => {
                    changed.push(Delta::Updated { old, new });
                }
                Some(old) => {
                    deleted.push(Delta::missed(old));
                    changed.push(Delta::Added { new, initial });
                }
            }
        }
        state.version = version;
        deleted.append(&mut changed);
        deleted
    }
}

/// Returns whether both have the same UID and resource version.
pub(super) fn is_same(one: &Object, other: &Object) -> bool {
    one.metadata.resource_version() == other.metadata.resource_version()
        && one.metadata.uid() == other.metadata.uid()
}
