//! LRU cache of a fixed capacity.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A map that evicts the least recently used entry when it is full.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    capacity: usize,
    uses: u64,
    values: HashMap<K, (u64, V)>,
    /// Keys by time of last use. Holds exactly the keys of `values`.
    by_use: BTreeMap<u64, K>,
}

impl<K: Hash + Eq + Clone, V> Recent<K, V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), uses: 0, values: HashMap::new(), by_use: BTreeMap::new() }
    }

    /// Returns the value of a key and marks it as used.
    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let (used, value) = self.values.get_mut(key)?;
        self.uses += 1;
        self.by_use.remove(used);
        *used = self.uses;
        self.by_use.insert(self.uses, key.clone());
        Some(value)
    }

    /// Inserts a value, and returns the evicted entry if the cache was full.
    pub(super) fn put(&mut self, key: K, value: V) -> Option<(K, V)> {
        self.uses += 1;
        self.by_use.insert(self.uses, key.clone());
        if let Some((used, _)) = self.values.insert(key, (self.uses, value)) {
            self.by_use.remove(&used);
        }
        if self.values.len() <= self.capacity {
            return None;
        }
        let (_, oldest) = self.by_use.pop_first()?;
        self.values.remove_entry(&oldest).map(|(key, (_, value))| (key, value))
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let (used, value) = self.values.remove(key)?;
        self.by_use.remove(&used);
        Some(value)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.values.iter_mut().map(|(key, (_, value))| (key, value))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_evicted() {
        let mut recent = Recent::new(3);
        assert!(["a", "b", "c"].iter().zip(1..).all(|(key, value)| recent.put(*key, value).is_none()));
        assert_eq!(recent.get_mut(&"a"), Some(&mut 1));
        assert_eq!(recent.put("b", 20), None);
        assert_eq!(recent.put("d", 4), Some(("c", 3)));
        assert_eq!(recent.put("e", 5), Some(("a", 1)));
        assert_eq!((recent.remove(&"b"), recent.remove(&"b")), (Some(20), None));
        assert_eq!((recent.len(), recent.by_use.len(), recent.iter_mut().count()), (2, 2, 2));
        assert_eq!(recent.get_mut(&"c"), None);
    }
}
