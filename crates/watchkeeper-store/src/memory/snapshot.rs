//! Snapshots: a sorted map of objects that is cheap to copy.
//!
//! A directory of chunks, each with at most [`CHUNK`] objects in key order. Both levels are shared and copied on the
//! first write after a snapshot was taken: one chunk, and a directory of one pointer per chunk. Without an
//! outstanding snapshot nothing is copied.
//!
//! Invariants:
//! - `snapshot.C1`: no chunk is empty; keys ascend within a chunk and from chunk to chunk.
//!
//! The order is by bytes, as in etcd, which differs from that of [`ObjectKey`]: namespace `a-b` sorts before `a`,
//! because `-` is less than the slash after `a`. Either way the keys of a namespace are contiguous.

use std::sync::Arc;

use watchkeeper_core::ObjectKey;

use crate::Stored;

/// Long enough to keep directories short, short enough that a copy takes about a microsecond.
const CHUNK: usize = 128;

/// The state of a collection at one revision.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    /// `snapshot.C1`.
    chunks: Arc<Vec<Arc<Chunk>>>,
}

type Chunk = Vec<Entry>;

#[derive(Debug, Clone)]
struct Entry {
    /// The key of `stored`, copied to save an indirection.
    key: ObjectKey,
    stored: Arc<Stored>,
}

/// The position of the first object whose key is not less than a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    chunk: usize,
    entry: usize,
}

impl Snapshot {
    /// Returns the object with this key.
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Arc<Stored>> {
        self.find(key).map(|at| &self.chunks[at.chunk][at.entry].stored)
    }

    /// Inserts an object, and returns the one it replaced.
    pub(super) fn insert(&mut self, stored: Arc<Stored>) -> Option<Arc<Stored>> {
        let found = self.find(stored.key());
        let Position { mut chunk, mut entry } = found.unwrap_or_else(|| self.position(stored.key().as_str()));
        let chunks = Arc::make_mut(&mut self.chunks);
        if found.is_some() {
            let place = &mut Arc::make_mut(&mut chunks[chunk])[entry].stored;
            return Some(std::mem::replace(place, stored));
        }
        let new = Entry { key: stored.key().clone(), stored };
        if chunk == chunks.len() {
            // Beyond the last key: append to the last chunk, or start a new one.
            match chunks.last_mut() {
                Some(last) if last.len() < CHUNK => Arc::make_mut(last).push(new),
                _ => chunks.push(Arc::new(vec![new])),
            }
            return None;
        }
        if chunks[chunk].len() == CHUNK {
            let upper = Arc::make_mut(&mut chunks[chunk]).split_off(CHUNK / 2);
            chunks.insert(chunk + 1, Arc::new(upper));
            if entry > CHUNK / 2 {
                (chunk, entry) = (chunk + 1, entry - CHUNK / 2);
            }
        }
        Arc::make_mut(&mut chunks[chunk]).insert(entry, new);
        None
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Stored>> {
        let at = self.find(key)?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let removed = Arc::make_mut(&mut chunks[at.chunk]).remove(at.entry);
        if chunks[at.chunk].is_empty() {
            chunks.remove(at.chunk); // snapshot.C1
        } else if chunks.get(at.chunk + 1).is_some_and(|next| next.len() + chunks[at.chunk].len() < CHUNK / 2)
        {
            let next = chunks.remove(at.chunk + 1);
            Arc::make_mut(&mut chunks[at.chunk]).extend_from_slice(&next);
        }
        Some(removed.stored)
    }

    /// Returns the first `limit` objects with keys from `from` up to but excluding `to`, and the number that follow.
    pub(super) fn range(&self, from: &str, to: Option<&str>, limit: usize) -> (Vec<Arc<Stored>>, usize) {
        let start = self.position(from);
        let end = to.map_or(Position { chunk: self.chunks.len(), entry: 0 }, |to| self.position(to));
        let total = self.distance(start, end);
        let count = total.min(limit);
        let mut items = Vec::with_capacity(count);
        let mut skip = start.entry;
        for chunk in &self.chunks[start.chunk..] {
            let wanted = count - items.len();
            items.extend(chunk[skip..].iter().take(wanted).map(|entry| entry.stored.clone()));
            skip = 0;
            if items.len() == count {
                break;
            }
        }
        (items, total - count)
    }

    /// Returns all objects in order.
    pub(crate) fn objects(&self) -> Vec<Arc<Stored>> {
        self.range("", None, usize::MAX).0
    }

    /// Returns the number of objects between two positions.
    fn distance(&self, start: Position, end: Position) -> usize {
        if end <= start {
            return 0;
        }
        let between = &self.chunks[start.chunk..end.chunk];
        between.iter().map(|chunk| chunk.len()).sum::<usize>() + end.entry - start.entry
    }

    fn find(&self, key: &ObjectKey) -> Option<Position> {
        let at = self.position(key.as_str());
        let entry = self.chunks.get(at.chunk)?.get(at.entry)?;
        (entry.key == *key).then_some(at)
    }

    fn position(&self, text: &str) -> Position {
        let less = |entry: &Entry| entry.key.as_str() < text;
        let chunk = self.chunks.partition_point(|chunk| chunk.last().is_some_and(less)); // snapshot.C1
        let entry = self.chunks.get(chunk).map_or(0, |chunk| chunk.partition_point(less));
        Position { chunk, entry }
    }

    #[cfg(test)]
    fn check(&self) {
        assert!(self.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= CHUNK), "snapshot.C1");
        let keys = || self.chunks.iter().flat_map(|chunk| chunk.iter()).map(|entry| entry.key.as_str());
        assert!(keys().zip(keys().skip(1)).all(|(left, right)| left < right), "snapshot.C1");
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
                map.check();
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
    fn keys_written_in_order_fill_their_chunks_and_an_emptied_map_has_none() {
        let mut map = Snapshot::default();
        for number in 0..CHUNK * 4 {
            map.insert(object(&format!("k{number:04}"), 2));
        }
        assert_eq!(map.chunks.len(), 4);
        for number in 0..CHUNK * 4 {
            map.remove(&ObjectKey::cluster(&format!("k{number:04}")));
        }
        assert_eq!(map.chunks.len(), 0);
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
