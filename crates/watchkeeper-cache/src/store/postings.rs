//! Postings: which objects have a value.

use std::cmp::Ordering;
use std::sync::Arc;

use watchkeeper_core::ObjectKey;

use crate::map::Map;

/// Values, and the keys of the objects that have them. Clones share what they have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct Postings {
    pairs: Map<Posting, ()>,
}

/// A value and an object that has it. In the order of values and then of keys.
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

    /// Moves a key from the values that it had to those that it has.
    pub(super) fn move_key(&mut self, key: &ObjectKey, old: &[String], new: &[String]) {
        for value in old.iter().filter(|value| !new.contains(value)) {
            self.remove(value, key);
        }
        for value in new.iter().filter(|value| !old.contains(value)) {
            self.add(value, key);
        }
    }

    /// The keys that have a value, in order.
    pub(super) fn keys<'a>(&'a self, value: &str) -> impl Iterator<Item = &'a ObjectKey> {
        self.of(value).map(|posting| &posting.key)
    }

    /// The keys of a namespace that have a value, in order.
    pub(super) fn keys_in<'a>(&'a self, value: &str, namespace: &str) -> impl Iterator<Item = &'a ObjectKey> {
        let before = move |posting: &Posting| {
            let by_value = (*posting.value).cmp(value);
            let by_namespace = posting.key.namespace().unwrap_or_default().cmp(namespace);
            by_value.then(by_namespace) == Ordering::Less
        };
        let there =
            move |posting: &&Posting| *posting.value == *value && posting.key.namespace() == Some(namespace);
        self.pairs
            .iter_from(before)
            .map(|(posting, ())| posting)
            .take_while(there)
            .map(|posting| &posting.key)
    }

    /// The keys that have a value that begins so. One that has several comes as often.
    pub(super) fn keys_beginning<'a>(&'a self, beginning: &str) -> impl Iterator<Item = &'a ObjectKey> {
        let from = self.pairs.iter_from(move |posting| *posting.value < *beginning);
        from.map(|(posting, ())| posting)
            .take_while(move |posting| posting.value.starts_with(beginning))
            .map(|posting| &posting.key)
    }

    /// All values, each once, in order.
    pub(super) fn values(&self) -> impl Iterator<Item = &str> {
        let mut last: Option<&str> = None;
        self.pairs.iter().filter_map(move |(posting, ())| {
            let is_new = last != Some(&posting.value);
            last = Some(&posting.value);
            is_new.then_some(&*posting.value)
        })
    }

    /// How many pairs of a value and a key there are.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The bytes that the pairs take, roughly: what a cache counts.
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
    fn keys_are_found_by_value_by_namespace_and_by_beginning() {
        let mut postings = Postings::default();
        for (value, at) in [("app=a", "x/1"), ("app=a", "y/2"), ("app=b", "x/3"), ("apple=a", "x/4")] {
            postings.add(value, &key(at));
        }
        assert_eq!(keys(postings.keys("app=a")), ["x/1", "y/2"]);
        assert_eq!(keys(postings.keys_in("app=a", "y")), ["y/2"]);
        assert_eq!(keys(postings.keys_in("app=b", "y")), [""; 0]);
        assert_eq!(keys(postings.keys_beginning("app=")), ["x/1", "y/2", "x/3"]);
        assert_eq!(postings.values().collect::<Vec<_>>(), ["app=a", "app=b", "apple=a"]);
    }

    #[test]
    fn a_value_that_nobody_has_any_more_leaves_nothing_behind() {
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
