//! Snapshots: the objects of a collection in an [`OrdMap`], which is cloned by copying a pointer.
//!
//! The first write after a snapshot was taken copies the nodes on its path; without a snapshot nothing is copied.
//!
//! The order is by bytes, as in etcd, which differs from that of [`ObjectKey`]: namespace `a-b` sorts before `a`,
//! because `-` is less than the slash after `a`. Either way the keys of a namespace are contiguous.

use std::cmp::Ordering;
use std::sync::Arc;

use watchkeeper_core::ObjectKey;
use watchkeeper_map::OrdMap;

use crate::Stored;

/// The objects of a collection at one revision.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    objects: OrdMap<TextKey, Arc<Stored>>,
}

/// A key that is ordered by the bytes of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TextKey(ObjectKey);

impl Ord for TextKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.as_str().cmp(other.0.as_str())
    }
}

impl PartialOrd for TextKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Snapshot {
    /// Returns the object with this key.
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Arc<Stored>> {
        self.objects.find(|other| other.0.as_str().cmp(key.as_str())).map(|(_, stored)| stored)
    }

    /// Inserts an object, and returns the one it replaces.
    pub(super) fn insert(&mut self, stored: Arc<Stored>) -> Option<Arc<Stored>> {
        self.objects.insert(TextKey(stored.key().clone()), stored)
    }

    /// Removes and returns an object.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Stored>> {
        self.objects.remove(&TextKey(key.clone()))
    }

    /// Returns the first `limit` objects from `from` on and before `to`, and the number of objects after them.
    pub(super) fn range(&self, from: &str, to: Option<&str>, limit: usize) -> (Vec<Arc<Stored>>, usize) {
        let end = to.map_or(self.objects.len(), |to| self.objects.rank(|key| key.0.as_str() < to));
        let total = end.saturating_sub(self.objects.rank(|key| key.0.as_str() < from));
        let count = total.min(limit);
        let mut items = Vec::with_capacity(count);
        for slice in self.objects.slices_from(|key| key.0.as_str() < from) {
            let wanted = count - items.len();
            items.extend(slice.iter().take(wanted).map(|(_, stored)| stored.clone()));
            if items.len() == count {
                break;
            }
        }
        (items, total - count)
    }

    /// Returns all objects, in order.
    pub(crate) fn objects(&self) -> Vec<Arc<Stored>> {
        self.range("", None, usize::MAX).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Revision, Unversioned};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn object(key: &str, revision: u64) -> Arc<Stored> {
        let body = format!(r#"{{"metadata":{{"name":"{key}"}}}}"#);
        let value = Unversioned::from_json(body.as_bytes()).unwrap();
        Arc::new(value.commit(Revision::new(revision), Revision::new(revision)))
    }

    fn keys(items: &[Arc<Stored>]) -> Vec<&str> {
        items.iter().map(|item| item.key().as_str()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn a_snapshot_is_a_sorted_map_and_older_copies_of_it_stay_as_they_were(
            steps in prop::collection::vec((0..700_u32, prop::bool::weighted(0.7)), 0..1500),
            (from, to, limit) in (0..700_u32, 0..700_u32, 0..300_usize),
        ) {
            let (mut map, mut model) = (Snapshot::default(), BTreeMap::new());
            let mut kept = Vec::new();
            for (step, (number, put)) in steps.into_iter().enumerate() {
                let key = format!("k{number:03}");
                let before = model.get(&key).cloned();
                let changed = if put {
                    let stored = object(&key, step as u64);
                    model.insert(key, stored.clone());
                    map.insert(stored)
                } else {
                    model.remove(&key);
                    map.remove(&ObjectKey::cluster(&key))
                };
                prop_assert_eq!(changed, before);
                if step % 200 == 0 {
                    kept.push((map.clone(), model.clone()));
                }
            }
            kept.push((map, model));
            let (from, to) = (format!("k{from:03}"), format!("k{to:03}"));
            for (map, model) in kept {
                let all: Vec<_> = model.values().cloned().collect();
                prop_assert_eq!(map.range("", None, usize::MAX), (all.clone(), 0));
                let part: Vec<_> = model.iter().filter(|(key, _)| **key >= from && **key < to)
                    .map(|(_, stored)| stored.clone()).collect();
                let count = part.len().min(limit);
                prop_assert_eq!(map.range(&from, Some(&to), limit), (part[..count].to_vec(), part.len() - count));
                prop_assert_eq!(map.get(&ObjectKey::cluster(&from)), model.get(&from));
            }
        }
    }

    #[test]
    fn objects_are_listed_in_the_order_of_the_bytes_of_their_keys() {
        let mut map = Snapshot::default();
        for (namespace, name) in [("a", "x"), ("a-b", "x"), ("a", "b"), ("b", "a")] {
            let body = format!(r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}"}}}}"#);
            let value = Unversioned::from_json(body.as_bytes()).unwrap();
            map.insert(Arc::new(value.commit(Revision::new(2), Revision::new(2))));
        }
        assert_eq!(keys(&map.range("", None, 9).0), ["a-b/x", "a/b", "a/x", "b/a"]);
        assert_eq!(keys(&map.range("a/", Some("a0"), 9).0), ["a/b", "a/x"]);
    }
}
