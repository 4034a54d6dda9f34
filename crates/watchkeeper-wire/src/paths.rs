//! Paths: fields named by where they stand in an object.
//!
//! `spec.nodeName` names a field; a list on the way means each of its elements
//! (`spec.containers.env`); a map key that is not a plain word is quoted in brackets
//! (`metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`).

use std::fmt;
use std::str::FromStr;

/// One field path.
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

/// Why a text is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("field path {text:?} at byte {position}: expected {expected}")]
pub struct FieldPathError {
    text: String,
    position: usize,
    expected: &'static str,
}

impl FieldPath {
    /// The names on the way, outermost first. There is at least one.
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

/// A set of paths, as a tree: what to cut out of a body while it is copied.
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
    /// What is said of some fields. Those that stay in a set that has the others are [`Node::NOTHING`].
    children: Vec<(Box<str>, Node)>,
    /// Whether the fields of which nothing is said are in the set.
    others: bool,
}

/// What a set of paths says of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// The field itself is in the set.
    Whole,
    /// Fields below it are.
    Below(Paths),
}

impl Node {
    /// Neither the field nor anything below it.
    const NOTHING: Self = Self::Below(Paths { children: Vec::new(), others: false });
}

impl Paths {
    /// No path at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// `metadata.managedFields`: half of a typical object, and of interest to few.
    pub fn managed_fields() -> Self {
        let mut paths = Self::default();
        paths.add(&"metadata.managedFields".parse().expect("it is a field path"));
        paths
    }

    /// Every path but these and what is below them. The fields that they are in stay, too, with nothing else in
    /// them.
    pub fn all_but(paths: impl IntoIterator<Item = FieldPath>) -> Self {
        let mut set = Self { children: Vec::new(), others: true };
        paths.into_iter().for_each(|path| set.spare(&path.segments));
        set
    }

    /// Adds a path. A path below one that is in the set already changes nothing.
    pub fn add(&mut self, path: &FieldPath) {
        self.insert(&path.segments);
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty() && !self.others
    }

    /// What the set says of a field at this level: `None` if it stays as it is.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.of(name.as_bytes())
    }

    pub(crate) fn of(&self, name: &[u8]) -> Option<&Node> {
        match self.children.iter().find(|(child, _)| child.as_bytes() == name) {
            Some((_, node)) => Some(node).filter(|node| **node != Node::NOTHING),
            None => self.others.then_some(&Node::Whole),
        }
    }

    /// The fields at this level of which something is said.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.children.iter().map(|(name, node)| (&**name, node))
    }

    /// Whether the fields of which nothing is said are in the set: see [`all_but`](Self::all_but).
    pub fn has_others(&self) -> bool {
        self.others
    }

    fn insert(&mut self, segments: &[Box<str>]) {
        let Some((first, rest)) = segments.split_first() else { return };
        let unsaid = if self.others { Node::Whole } else { Node::NOTHING };
        let node = self.child(first, unsaid);
        match node {
            Node::Whole => {}
            _ if rest.is_empty() => *node = Node::Whole,
            Node::Below(paths) => paths.insert(rest),
        }
    }

    /// Takes a path, and what is below it, out of the set.
    fn spare(&mut self, segments: &[Box<str>]) {
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
            Node::Below(paths) if paths.others => paths.spare(rest),
            _ => {} // all of it stays already
        }
    }

    fn child(&mut self, name: &str, unsaid: Node) -> &mut Node {
        let position = self.children.iter().position(|(child, _)| **child == *name).unwrap_or_else(|| {
            self.children.push((name.into(), unsaid));
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
    fn a_path_survives_the_round_trip_through_text() {
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
    fn a_malformed_path_says_where() {
        for (text, position) in
            [("", 0), (".spec", 0), ("spec.", 4), ("a..b", 1), ("a[b]", 1), ("a[\"b", 1), ("a b", 1)]
        {
            let error = text.parse::<FieldPath>().unwrap_err();
            assert_eq!((error.position, error.text.as_str()), (position, text), "{error}");
        }
    }

    #[test]
    fn a_whole_field_swallows_the_paths_below_it() {
        let set: Paths = [path("a.b.c"), path("a.b"), path("a.b.d"), path("e")].into_iter().collect();
        let Some(Node::Below(a)) = set.get("a") else { panic!("a is on the way to a.b") };
        assert_eq!(a.get("b"), Some(&Node::Whole));
        assert_eq!(set.get("e"), Some(&Node::Whole));
        assert_eq!(set.get("f"), None);
    }

    #[test]
    fn a_set_of_all_but_some_has_everything_else() {
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
        fn no_text_makes_the_parser_panic_and_what_parses_prints_back(text in "[a.\\[\\]\" ]{0,12}|\\PC{0,12}") {
            if let Ok(path) = text.parse::<FieldPath>() {
                prop_assert_eq!(path.to_string().parse::<FieldPath>().unwrap(), path);
            }
        }
    }
}
