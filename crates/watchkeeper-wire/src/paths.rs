//! Field paths.
//!
//! `spec.nodeName` is a field; a path through a list covers each of its elements
//! (`spec.containers.env`); map keys with special characters are quoted in brackets
//! (`metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`).

use std::fmt;
use std::str::FromStr;

/// The path of a field in an object.
///
/// ```
/// use watchkeeper_wire::FieldPath;
///
/// let path: FieldPath = r#"metadata.annotations["example.com/a.b"]"#.parse()?;
/// assert_eq!(path.segments(), ["metadata", "annotations", "example.com/a.b"]);
/// # Ok::<(), watchkeeper_wire::FieldPathError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldPath {
    segments: Box<[Box<str>]>,
}

/// An error from parsing a [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid field path {text:?} at byte {position}: expected {expected}")]
pub struct FieldPathError {
    text: String,
    position: usize,
    expected: &'static str,
}

impl FieldPath {
    /// Returns the segments, outermost first. There is at least one.
    pub fn segments(&self) -> Vec<&str> {
        self.segments.iter().map(|segment| &**segment).collect()
    }

    pub(crate) fn parts(&self) -> &[Box<str>] {
        &self.segments
    }
}

impl FromStr for FieldPath {
    type Err = FieldPathError;

    fn from_str(text: &str) -> Result<Self, FieldPathError> {
        let mut segments: Vec<Box<str>> = Vec::new();
        let mut at = 0;
        let fail = |position, expected| Err(FieldPathError { text: text.to_owned(), position, expected });
        while at < text.len() {
            let rest = &text[at..];
            if let Some(quoted) = rest.strip_prefix("[\"") {
                let Some(end) = quoted.find("\"]") else { return fail(at, "a closing `\"]`") };
                segments.push(quoted[..end].into());
                at += end + 4;
                continue;
            }
            let word = if at == 0 { rest } else { rest.strip_prefix('.').unwrap_or("") };
            let end = word.find(['.', '[', '"', ']', ' ']).unwrap_or(word.len());
            if end == 0 {
                return fail(at, "a field name");
            }
            segments.push(word[..end].into());
            at += end + usize::from(at > 0);
        }
        if segments.is_empty() {
            return fail(0, "a field name");
        }
        Ok(Self { segments: segments.into() })
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.segments.iter().enumerate() {
            let plain = !segment.is_empty() && !segment.contains(['.', '[', '"', ']', ' ']);
            match (plain, index) {
                (true, 0) => f.write_str(segment)?,
                (true, _) => write!(f, ".{segment}")?,
                (false, _) => write!(f, "[\"{segment}\"]")?,
            }
        }
        Ok(())
    }
}

/// A set of field paths, as a tree.
///
/// ```
/// use watchkeeper_wire::{Node, Paths};
///
/// let cut = Paths::all_but(["spec.nodeName".parse()?]);
/// assert_eq!(cut.get("status"), Some(&Node::Whole));
/// let Some(Node::Below(spec)) = cut.get("spec") else { unreachable!() };
/// assert_eq!((spec.get("nodeName"), spec.get("containers")), (None, Some(&Node::Whole)));
/// # Ok::<(), watchkeeper_wire::FieldPathError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paths {
    /// Explicit fields. [`Node::NOTHING`] excludes a field from a set with `others`.
    children: Vec<(Box<str>, Node)>,
    /// Whether all other fields are in the set.
    others: bool,
}

/// The part of a field that is in a set of paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// The whole field.
    Whole,
    /// Some fields below it.
    Below(Paths),
}

impl Node {
    /// Neither the field nor anything below it.
    const NOTHING: Self = Self::Below(Paths { children: Vec::new(), others: false });
}

impl Paths {
    /// Returns the empty set.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the set of `metadata.managedFields`, which is half of a typical object and rarely used.
    pub fn managed_fields() -> Self {
        let mut paths = Self::default();
        paths.add(&"metadata.managedFields".parse().expect("valid field path"));
        paths
    }

    /// Returns the set of everything except these paths, including what is below them. Their parents are not in
    /// the set, but everything else in the parents is.
    pub fn all_but(paths: impl IntoIterator<Item = FieldPath>) -> Self {
        let mut set = Self { children: Vec::new(), others: true };
        paths.into_iter().for_each(|path| set.remove(&path.segments));
        set
    }

    /// Adds a path. Has no effect if a parent is already in the set.
    pub fn add(&mut self, path: &FieldPath) {
        self.insert(&path.segments);
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty() && !self.others
    }

    /// Returns the part of a field at this level that is in the set; `None` if nothing is.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.of(name.as_bytes())
    }

    pub(crate) fn of(&self, name: &[u8]) -> Option<&Node> {
        match self.children.iter().find(|(child, _)| child.as_bytes() == name) {
            Some((_, node)) => Some(node).filter(|node| **node != Node::NOTHING),
            None => self.others.then_some(&Node::Whole),
        }
    }

    /// Returns the explicit fields at this level.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.children.iter().map(|(name, node)| (&**name, node))
    }

    /// Returns whether fields that are not explicit are in the set: see [`all_but`](Self::all_but).
    pub fn has_others(&self) -> bool {
        self.others
    }

    fn insert(&mut self, segments: &[Box<str>]) {
        let Some((first, rest)) = segments.split_first() else { return };
        let default = if self.others { Node::Whole } else { Node::NOTHING };
        let node = self.child(first, default);
        match node {
            Node::Whole => {}
            _ if rest.is_empty() => *node = Node::Whole,
            Node::Below(paths) => paths.insert(rest),
        }
    }

    /// Removes a path and everything below it from the set.
    fn remove(&mut self, segments: &[Box<str>]) {
        let Some((first, rest)) = segments.split_first() else { return };
        let node = self.child(first, Node::Whole);
        if rest.is_empty() {
            *node = Node::NOTHING;
            return;
        }
        if *node == Node::Whole {
            *node = Node::Below(Self { children: Vec::new(), others: true });
        }
        match node {
            Node::Below(paths) if paths.others => paths.remove(rest),
            _ => {} // not in the set
        }
    }

    fn child(&mut self, name: &str, default: Node) -> &mut Node {
        let position = self.children.iter().position(|(child, _)| **child == *name).unwrap_or_else(|| {
            self.children.push((name.into(), default));
            self.children.len() - 1
        });
        &mut self.children[position].1
    }
}

impl FromIterator<FieldPath> for Paths {
    fn from_iter<I: IntoIterator<Item = FieldPath>>(paths: I) -> Self {
        let mut set = Self::default();
        paths.into_iter().for_each(|path| set.add(&path));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(text: &str) -> FieldPath {
        text.parse().unwrap()
    }

    #[test]
    fn paths_round_trip_through_text() {
        let texts = [
            "spec",
            "spec.nodeName",
            r#"metadata.annotations["a.b/c"]"#,
            r#"["x.y"].z"#,
            r#"a["b.c"]["d.e"]"#,
        ];
        for text in texts {
            assert_eq!(path(text).to_string(), text);
        }
    }

    #[test]
    fn errors_have_a_position() {
        for (text, position) in
            [("", 0), (".spec", 0), ("spec.", 4), ("a..b", 1), ("a[b]", 1), ("a[\"b", 1), ("a b", 1)]
        {
            let error = text.parse::<FieldPath>().unwrap_err();
            assert_eq!((error.position, error.text.as_str()), (position, text), "{error}");
        }
    }

    #[test]
    fn a_whole_field_includes_the_paths_below_it() {
        let set: Paths = [path("a.b.c"), path("a.b"), path("a.b.d"), path("e")].into_iter().collect();
        let Some(Node::Below(a)) = set.get("a") else { panic!("a is a parent of a.b") };
        assert_eq!(a.get("b"), Some(&Node::Whole));
        assert_eq!(set.get("e"), Some(&Node::Whole));
        assert_eq!(set.get("f"), None);
    }

    #[test]
    fn all_but_has_everything_else() {
        let mut set = Paths::all_but(["a.b", "a.c.d", "a.c", "e", "e.f"].map(path));
        let Some(Node::Below(a)) = set.get("a") else { panic!("a.b stays") };
        assert_eq!((a.get("b"), a.get("c"), a.get("x")), (None, None, Some(&Node::Whole)));
        assert_eq!((set.get("e"), set.get("x")), (None, Some(&Node::Whole)));
        set.add(&path("a.b.y"));
        set.add(&path("x.z"));
        let Some(Node::Below(a)) = set.get("a") else { panic!("most of a.b stays") };
        let Some(Node::Below(b)) = a.get("b") else { panic!("most of a.b stays") };
        assert_eq!((b.get("y"), b.get("z")), (Some(&Node::Whole), None));
        assert_eq!(set.get("x"), Some(&Node::Whole));
        assert!(!Paths::all_but([]).is_empty() && Paths::none().is_empty());
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_round_trips(text in "[a.\\[\\]\" ]{0,12}|\\PC{0,12}") {
            if let Ok(path) = text.parse::<FieldPath>() {
                prop_assert_eq!(path.to_string().parse::<FieldPath>().unwrap(), path);
            }
        }
    }
}
