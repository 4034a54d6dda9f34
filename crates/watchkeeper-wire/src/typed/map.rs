//! Maps with string keys.

use std::fmt;
use std::ops::Index;

use super::Str;

/// A map with string keys, such as labels: a sorted list of entries, because the maps of an object are small.
///
/// ```
/// use watchkeeper_wire::typed::{Map, Str};
///
/// let mut labels: Map<Str> = [("app", "web")].into_iter().collect();
/// labels.insert("tier", "front");
/// assert_eq!(labels["app"], "web");
/// assert_eq!(labels.get("zone"), None);
/// assert_eq!(labels.keys().collect::<Vec<_>>(), ["app", "tier"]);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Map<V> {
    /// Sorted by key, without duplicates.
    entries: Vec<(Str, V)>,
}

impl<V> Map<V> {
    /// Creates an empty map.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&V> {
        Some(&self.entries[self.position(key).ok()?].1)
    }

    /// Returns the value of a key, for writing.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        let position = self.position(key).ok()?;
        Some(&mut self.entries[position].1)
    }

    /// Returns whether there is an entry with this key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_ok()
    }

    /// Sets the value of a key, and returns the previous one.
    pub fn insert(&mut self, key: impl Into<Str>, value: impl Into<V>) -> Option<V> {
        let (key, value) = (key.into(), value.into());
        match self.entries.last() {
            Some((last, _)) if *last >= key => match self.position(&key) {
                Ok(position) => return Some(std::mem::replace(&mut self.entries[position].1, value)),
                Err(position) => self.entries.insert(position, (key, value)),
            },
            _ => self.entries.push((key, value)),
        }
        None
    }

    /// Adds an entry; returns the key if there is one with this key.
    pub(super) fn insert_new(&mut self, key: Str, value: V) -> Result<(), Str> {
        match self.entries.last() {
            Some((last, _)) if *last >= key => match self.position(&key) {
                Ok(_) => return Err(key),
                Err(position) => self.entries.insert(position, (key, value)),
            },
            _ => self.entries.push((key, value)),
        }
        Ok(())
    }

    /// Removes an entry, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let position = self.position(key).ok()?;
        Some(self.entries.remove(position).1)
    }

    /// Retains the entries for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Returns the entries, sorted by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Str, &V)> + DoubleEndedIterator {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// Returns the entries, with values for writing.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&Str, &mut V)> + DoubleEndedIterator {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Returns the keys, sorted.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Str> + DoubleEndedIterator {
        self.entries.iter().map(|(key, _)| key)
    }

    /// Returns the values, in the order of their keys.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> + DoubleEndedIterator {
        self.entries.iter().map(|(_, value)| value)
    }

    pub(super) fn reserve_exact(&mut self, entries: usize) {
        self.entries.reserve_exact(entries);
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.entries.shrink_to_fit();
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(entry, _)| entry.as_str().cmp(key))
    }
}

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: fmt::Debug> fmt::Debug for Map<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Panics if there is no such key.
impl<V> Index<&str> for Map<V> {
    type Output = V;

    fn index(&self, key: &str) -> &V {
        self.get(key).unwrap_or_else(|| panic!("key {key:?} not found"))
    }
}

impl<K: Into<Str>, U: Into<V>, V> Extend<(K, U)> for Map<V> {
    fn extend<I: IntoIterator<Item = (K, U)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Into<Str>, U: Into<V>, V> FromIterator<(K, U)> for Map<V> {
    fn from_iter<I: IntoIterator<Item = (K, U)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Into<Str>, U: Into<V>, V, const N: usize> From<[(K, U); N]> for Map<V> {
    fn from(entries: [(K, U); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (Str, V);
    type IntoIter = std::vec::IntoIter<(Str, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a, V> IntoIterator for &'a Map<V> {
    type Item = &'a (Str, V);
    type IntoIter = std::slice::Iter<'a, (Str, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_in_any_order_of_insertion() {
        let mut map = Map::<i32>::new();
        for (key, value) in [("c", 1), ("a", 2), ("b", 3), ("a", 4)] {
            map.insert(key, value);
        }
        assert_eq!(map, Map::from([("a", 4), ("b", 3), ("c", 1)]));
        assert_eq!(map.remove("b"), Some(3));
        assert!(!map.contains_key("b"));
        assert_eq!(map.values().collect::<Vec<_>>(), [&4, &1]);
    }
}
