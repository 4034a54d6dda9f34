//! Postings: the sorted (value, key) pairs of one index.

use std::cmp::Ordering;
use std::sync::Arc;

use watchkeeper_core::ObjectKey;
use watchkeeper_map::OrdMap;

/// The (value, key) pairs of one index. Clones share structure.
#[derive(Debug, Clone, Default)]
pub(super) struct Postings {
    pairs: OrdMap<Posting, ()>,
}

/// One pair, ordered by value and then by key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Posting {
    /// Shared by all postings of the value.
    value: Arc<str>,
    key: ObjectKey,
}

impl Postings {
    pub(super) fn add(&mut self, value: &str, key: &ObjectKey) {
        let neighbour = self.of(value).next();
        let value = neighbour.map_or_else(|| value.into(), |posting| posting.value.clone());
        self.pairs.insert(Posting { value, key: key.clone() }, ());
    }

    pub(super) fn remove(&mut self, value: &str, key: &ObjectKey) {
        let place = |posting: &Posting| (*posting.value).cmp(value).then_with(|| posting.key.cmp(key));
        if let Some(posting) = self.pairs.find(place).map(|(posting, ())| posting.clone()) {
            self.pairs.remove(&posting);
        }
    }

    /// Moves a key from its old values to its new ones.
    pub(super) fn move_key(&mut self, key: &ObjectKey, old: &[String], new: &[String]) {
        for value in old.iter().filter(|value| !new.contains(value)) {
            self.remove(value, key);
        }
        for value in new.iter().filter(|value| !old.contains(value)) {
            self.add(value, key);
        }
    }

    /// Returns the keys with this value, in order.
    pub(super) fn keys<'a>(&'a self, value: &str) -> impl Iterator<Item = &'a ObjectKey> {
        self.of(value).map(|posting| &posting.key)
    }

    /// Returns the keys in a namespace with this value, in order.
    pub(super) fn keys_in<'a>(&'a self, value: &str, namespace: &str) -> impl Iterator<Item = &'a ObjectKey> {
        let before = move |posting: &Posting| {
            let by_value = (*posting.value).cmp(value);
            let by_namespace = posting.key.namespace().unwrap_or_default().cmp(namespace);
            by_value.then(by_namespace) == Ordering::Less
        };
        let matches =
            move |posting: &&Posting| *posting.value == *value && posting.key.namespace() == Some(namespace);
        self.pairs
            .iter_from(before)
            .map(|(posting, ())| posting)
            .take_while(matches)
            .map(|posting| &posting.key)
    }

    /// Returns the keys whose value starts with `prefix`; a key appears once for each matching value.
    pub(super) fn keys_with_prefix<'a>(&'a self, prefix: &str) -> impl Iterator<Item = &'a ObjectKey> {
        let from = self.pairs.iter_from(move |posting| *posting.value < *prefix);
        from.map(|(posting, ())| posting)
            .take_while(move |posting| posting.value.starts_with(prefix))
            .map(|posting| &posting.key)
    }

    /// Returns all distinct values, in order.
    pub(super) fn values(&self) -> impl Iterator<Item = &str> {
        let mut last: Option<&str> = None;
        self.pairs.iter().filter_map(move |(posting, ())| {
            let is_new = last != Some(&posting.value);
            last = Some(&posting.value);
            is_new.then_some(&*posting.value)
        })
    }

    /// Returns the number of pairs.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the approximate memory of the pairs, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.len() * size_of::<Posting>()
    }

    fn of<'a>(&'a self, value: &str) -> impl Iterator<Item = &'a Posting> {
        let from = self.pairs.iter_from(move |posting| *posting.value < *value);
        from.map(|(posting, ())| posting).take_while(move |posting| *posting.value == *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> ObjectKey {
        text.parse().unwrap()
    }

    fn keys<'a>(keys: impl Iterator<Item = &'a ObjectKey>) -> Vec<String> {
        keys.map(ToString::to_string).collect()
    }

    #[test]
    fn keys_are_found_by_value_by_namespace_and_by_prefix() {
        let mut postings = Postings::default();
        for (value, at) in [("app=a", "x/1"), ("app=a", "y/2"), ("app=b", "x/3"), ("apple=a", "x/4")] {
            postings.add(value, &key(at));
        }
        assert_eq!(keys(postings.keys("app=a")), ["x/1", "y/2"]);
        assert_eq!(keys(postings.keys_in("app=a", "y")), ["y/2"]);
        assert_eq!(keys(postings.keys_in("app=b", "y")), [""; 0]);
        assert_eq!(keys(postings.keys_with_prefix("app=")), ["x/1", "y/2", "x/3"]);
        assert_eq!(postings.values().collect::<Vec<_>>(), ["app=a", "app=b", "apple=a"]);
    }

    #[test]
    fn a_value_without_keys_is_removed() {
        let mut postings = Postings::default();
        postings.add("v", &key("x/1"));
        postings.add("v", &key("x/2"));
        postings.add("v", &key("x/2"));
        postings.remove("v", &key("x/1"));
        postings.remove("w", &key("x/2"));
        assert_eq!((keys(postings.keys("v")), postings.len()), (vec!["x/2".to_owned()], 1));
        postings.remove("v", &key("x/2"));
        assert_eq!((postings.values().count(), postings.len()), (0, 0));
    }

    #[test]
    fn postings_of_a_value_share_its_text() {
        let mut postings = Postings::default();
        postings.add("v", &key("x/1"));
        postings.add("v", &key("x/0"));
        let texts: Vec<_> = postings.of("v").map(|posting| posting.value.as_ptr()).collect();
        assert_eq!(texts[0], texts[1]);
    }
}
