//! Field set: a set of fields of an object, such as those that a manager owns.
//!
//! Invariants:
//! - `field_set.F1`: every node is a member or has a member below it. So sets with the same paths are equal.

use std::collections::BTreeMap;
use std::fmt;

use super::element::{Element, ElementError};
use super::types::Type;
use serde_json::{Map, Value};

/// A set of paths to fields. A path does not imply its ancestors or descendants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    nodes: BTreeMap<Element, Node>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Node {
    is_member: bool,
    below: FieldSet,
}

impl Node {
    /// See `field_set.F1`.
    fn is_empty(&self) -> bool {
        !self.is_member && self.below.is_empty()
    }
}

/// A path, formatted for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath(pub Vec<Element>);

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

impl FieldSet {
    /// Creates a set from paths of field names.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(path.iter().map(|name| Element::field(*name)));
        }
        set
    }

    /// Parses `fieldsV1`.
    ///
    /// # Errors
    /// If an element is malformed. Unknown elements are ignored.
    pub fn parse(fields: &Value) -> Result<Self, ElementError> {
        let Value::Object(fields) = fields else {
            return match fields {
                Value::Null => Ok(Self::default()),
                other => Err(ElementError::Malformed(other.to_string().chars().take(64).collect())),
            };
        };
        let mut set = Self::default();
        for (text, value) in fields.iter().filter(|(text, _)| *text != ".") {
            let element = match Element::parse(text) {
                Ok(element) => element,
                Err(ElementError::Unknown) => continue,
                Err(error) => return Err(error),
            };
            let below = Self::parse(value)?;
            let is_member = below.is_empty() || value.get(".").is_some();
            set.nodes.insert(element, Node { is_member, below });
        }
        Ok(set)
    }

    /// Returns the JSON of `fieldsV1`.
    pub fn json(&self) -> Value {
        let fields = self.nodes.iter().map(|(element, node)| {
            let mut fields = Map::new();
            if node.is_member && !node.below.is_empty() {
                fields.insert(".".to_owned(), Value::Object(Map::new()));
            }
            if let Value::Object(below) = node.below.json() {
                fields.extend(below);
            }
            (element.text(), Value::Object(fields))
        });
        Value::Object(fields.collect())
    }

    /// Returns whether it has no paths.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a path. The empty path (the whole object) is ignored.
    pub fn insert(&mut self, path: impl IntoIterator<Item = Element>) {
        let mut path = path.into_iter();
        let Some(first) = path.next() else { return };
        let mut node = self.nodes.entry(first).or_default();
        for element in path {
            node = node.below.nodes.entry(element).or_default();
        }
        node.is_member = true;
    }

    /// Returns whether the path is in it.
    pub fn contains(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.contains(rest)),
        }
    }

    /// Returns whether the path of this single element is in it.
    pub fn has(&self, element: &Element) -> bool {
        self.nodes.get(element).is_some_and(|node| node.is_member)
    }

    /// Returns the paths below this element, relative to it.
    pub fn below(&self, element: &Element) -> Option<&Self> {
        self.nodes.get(element).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    /// Returns the paths of either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        for (element, theirs) in &other.nodes {
            let ours = all.nodes.entry(element.clone()).or_default();
            ours.is_member |= theirs.is_member;
            ours.below = ours.below.union(&theirs.below);
        }
        all
    }

    /// Returns the paths in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combined(|element, node| {
            let theirs = other.nodes.get(element)?;
            let is_member = node.is_member && theirs.is_member;
            Some(Node { is_member, below: node.below.intersection(&theirs.below) })
        })
    }

    /// Returns the paths that the other does not have.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combined(|element, node| match other.nodes.get(element) {
            None => Some(node.clone()),
            Some(theirs) => {
                let is_member = node.is_member && !theirs.is_member;
                Some(Node { is_member, below: node.below.difference(&theirs.below) })
            }
        })
    }

    /// Returns the paths that are neither in the other nor below one of its paths.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.combined(|element, node| match other.nodes.get(element) {
            None => Some(node.clone()),
            Some(theirs) if theirs.is_member => None,
            Some(theirs) => {
                Some(Node { is_member: node.is_member, below: node.below.without(&theirs.below) })
            }
        })
    }

    /// Returns the paths that match a prefix of a pattern, or extend a pattern; `*` is any element.
    #[must_use]
    pub fn along(&self, patterns: &[&[&str]]) -> Self {
        self.combined(|element, node| {
            let fits = |first: &str| match element {
                Element::Field(name) => first == "*" || first == name,
                _ => first == "*",
            };
            let rests = patterns.iter().filter_map(|pattern| match pattern {
                [first, rest @ ..] if fits(first) => Some(rest),
                _ => None,
            });
            let rests: Vec<&[&str]> = rests.collect();
            if rests.iter().any(|rest| rest.is_empty()) {
                Some(node.clone())
            } else if rests.is_empty() {
                None
            } else {
                Some(Node { is_member: node.is_member, below: node.below.along(&rests) })
            }
        })
    }

    fn combined(&self, combine: impl Fn(&Element, &Node) -> Option<Node>) -> Self {
        let nodes = self.nodes.iter().filter_map(|(element, node)| {
            let node = combine(element, node).filter(|node| !node.is_empty())?; // field_set.F1
            Some((element.clone(), node))
        });
        Self { nodes: nodes.collect() }
    }

    /// Returns the set with every ancestor of its paths that the type names. Such a field has no owner while something
    /// in it has one, so it would never be removed.
    #[must_use]
    pub(super) fn with_named_fields(&self, of: Option<Type<'_>>) -> Self {
        let nodes = self.nodes.iter().map(|(element, node)| {
            let is_named = matches!(element, Element::Field(name) if of.is_some_and(|of| of.names(name)));
            let below = of.and_then(|of| of.below(element));
            let is_member = node.is_member || (is_named && !node.below.is_empty());
            (element.clone(), Node { is_member, below: node.below.with_named_fields(below) })
        });
        Self { nodes: nodes.collect() }
    }

    /// Returns all paths, ancestors first.
    pub fn paths(&self) -> Vec<FieldPath> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<Element>, paths: &mut Vec<FieldPath>) {
        for (element, _) in self.nodes.iter().filter(|(_, node)| node.is_member) {
            let path = prefix.iter().chain([element]).cloned().collect();
            paths.push(FieldPath(path));
        }
        for (element, node) in &self.nodes {
            prefix.push(element.clone());
            node.below.collect(prefix, paths);
            prefix.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(fields: &Value) -> FieldSet {
        FieldSet::parse(fields).unwrap()
    }

    #[test]
    fn a_dot_makes_the_parent_a_member() {
        let fields = json!({"f:a": {".": {}, "f:b": {}}, "f:c": {"k:{\"n\":1}": {}}});
        let set = read(&fields);
        assert_eq!(set.json(), fields);
        let paths: Vec<String> = set.paths().iter().map(ToString::to_string).collect();
        assert_eq!(paths, [".a", ".a.b", ".c[n=1]"]);
    }

    #[test]
    fn unknown_elements_are_ignored_and_malformed_ones_are_not() {
        assert_eq!(read(&json!({"x:y": {"f:a": 1}, "f:b": {}})), FieldSet::of_fields(&[&["b"]]));
        for broken in [json!([]), json!({"f:a": []}), json!({"a": {}})] {
            assert!(FieldSet::parse(&broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn only_without_removes_descendants() {
        let set = read(&json!({"f:a": {".": {}, "f:b": {}}}));
        let a = FieldSet::of_fields(&[&["a"]]);
        assert_eq!(set.difference(&a), FieldSet::of_fields(&[&["a", "b"]]));
        assert_eq!(set.without(&a), FieldSet::default());
        assert_eq!(set.along(&[&["a"]]), set);
        assert_eq!(set.along(&[&["*", "c"]]), a);
        assert_eq!(set.along(&[&["b"]]), FieldSet::default());
    }

    fn sets() -> impl Strategy<Value = FieldSet> {
        let element = prop_oneof![
            "[a-c]".prop_map(Element::field),
            (0_i64..3).prop_map(|n| Element::Key(vec![("n".to_owned(), Value::from(n).into())])),
            "[a-c]".prop_map(|text| Element::Value(Value::from(text).into())),
        ];
        let path = proptest::collection::vec(element, 1..4);
        proptest::collection::vec(path, 0..8).prop_map(|paths| {
            let mut set = FieldSet::default();
            paths.into_iter().for_each(|path| set.insert(path));
            set
        })
    }

    proptest! {
        #[test]
        fn sets_are_written_as_they_were_read(set in sets()) {
            prop_assert_eq!(FieldSet::parse(&set.json()).unwrap(), set);
        }

        #[test]
        fn sets_are_sets(a in sets(), b in sets()) {
            let (both, only_a, only_b) = (a.intersection(&b), a.difference(&b), b.difference(&a));
            prop_assert_eq!(only_a.union(&both).union(&only_b), a.union(&b));
            prop_assert_eq!(only_a.intersection(&b), FieldSet::default());
            prop_assert_eq!(&a.intersection(&a.union(&b)), &a);
            prop_assert_eq!(a.without(&b).intersection(&b), FieldSet::default());
            for path in a.paths() {
                prop_assert!(a.contains(&path.0));
                prop_assert_eq!(both.contains(&path.0), b.contains(&path.0));
            }
        }
    }
}
