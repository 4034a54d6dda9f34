//! Expansion: a parsed YAML document with every alias replaced by the value it refers to.
//!
//! - `expand.E1`: Go's rule on aliases (`document contains excessive aliasing`) is checked before a value is
//!   copied, so a rejected document costs no more memory than an accepted one.
//! - `expand.E2`: aliases add at most [`YAML_ALIASED_BYTES`] of keys and scalars. Go shares the strings of an alias
//!   and needs no such limit until it writes the document out again.
//! - `expand.E3`: the nesting depth of the result is at most [`DOCUMENT_DEPTH`], even with chained anchors.

use std::collections::HashSet;

use crate::document::{DOCUMENT_DEPTH, Document};

/// Maximum bytes of keys and scalars added by aliases: the largest request body that kube-apiserver reads.
pub const YAML_ALIASED_BYTES: usize = 3 << 20;

/// Below these counts Go does not limit the share of aliased values.
const FEW_ALIASED: usize = 100;
const FEW_DECODED: usize = 1000;

/// Up to this many values, 99% may come from aliases; from [`RATIO_HIGH`] on 10%, and in between in proportion.
const RATIO_LOW: usize = 400_000;
const RATIO_HIGH: usize = 4_000_000;

/// A parsed value with unexpanded aliases.
pub(super) enum Node {
    Leaf(Document),
    List(Vec<Node>),
    Object(Vec<Entry>),
    /// The value with this anchor, at its definition.
    Anchored(usize),
    Alias(usize),
}

/// An entry of a mapping.
pub(super) enum Entry {
    Field(String, Node),
    /// `<<: value`.
    Merge(Node),
}

/// The anchored values, by the parser's anchor numbers. They refer to each other by number, so dropping them never
/// recurses deeper than a single value.
pub(super) type Anchors = std::collections::HashMap<usize, Node>;

/// The expansion so far, counted as by Go.
#[derive(Default)]
pub(super) struct Budget {
    /// Values decoded, aliased or not.
    decoded: usize,
    /// Values decoded because of an alias.
    aliased: usize,
    /// Bytes of keys and scalars copied because of an alias.
    bytes: usize,
}

impl Budget {
    /// Counts a value before it is created.
    fn count(&mut self, in_alias: bool) -> Result<(), String> {
        self.decoded += 1;
        self.aliased += usize::from(in_alias);
        let is_many = self.aliased > FEW_ALIASED && self.decoded > FEW_DECODED;
        if is_many && self.aliased as f64 / self.decoded as f64 > allowed_ratio(self.decoded) {
            // expand.E1
            Err(excessive())
        } else {
            Ok(())
        }
    }

    /// Counts the bytes of a key or scalar before it is copied for an alias.
    pub(super) fn copy(&mut self, text: &str) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > YAML_ALIASED_BYTES {
            // expand.E2
            Err(excessive())
        } else {
            Ok(())
        }
    }
}

fn excessive() -> String {
    "yaml: document contains excessive aliasing".to_owned()
}

fn allowed_ratio(decoded: usize) -> f64 {
    let beyond = decoded.saturating_sub(RATIO_LOW) as f64 / (RATIO_HIGH - RATIO_LOW) as f64;
    0.99 - 0.89 * beyond.min(1.0)
}

/// Replaces aliases with their values.
pub(super) struct Expander<'a> {
    pub(super) anchors: &'a Anchors,
    pub(super) budget: Budget,
    /// The anchors of the aliases being replaced, innermost last.
    open: Vec<usize>,
}

impl<'a> Expander<'a> {
    pub(super) fn new(anchors: &'a Anchors, budget: Budget) -> Self {
        Self { anchors, budget, open: Vec::new() }
    }

    /// Expands a node at nesting level `depth`.
    pub(super) fn expand(&mut self, node: &Node, depth: usize) -> Result<Document, String> {
        if let Node::Anchored(anchor) = node {
            return match self.anchors.get(anchor) {
                Some(node) => self.expand(node, depth),
                None => Err(contains_itself()),
            };
        }
        let in_alias = !self.open.is_empty();
        self.budget.count(in_alias)?;
        match node {
            Node::Leaf(leaf) => {
                if let (true, Document::Text(text)) = (in_alias, leaf) {
                    self.budget.copy(text)?;
                }
                Ok(leaf.clone())
            }
            Node::List(items) => {
                check_depth(depth)?;
                let items = items.iter().map(|item| self.expand(item, depth + 1));
                Ok(Document::List(items.collect::<Result<_, _>>()?))
            }
            Node::Object(entries) => {
                check_depth(depth)?;
                self.object(entries, depth, in_alias).map(Document::Object)
            }
            Node::Anchored(_) => Ok(Document::Null), // handled above
            Node::Alias(anchor) => self.aliased(*anchor, |this, node| this.expand(node, depth)),
        }
    }

    /// Visits the value of an anchor on behalf of an alias.
    fn aliased<T>(
        &mut self,
        anchor: usize,
        visit: impl FnOnce(&mut Self, &'a Node) -> Result<T, String>,
    ) -> Result<T, String> {
        let anchors = self.anchors;
        let node =
            anchors.get(&anchor).filter(|_| !self.open.contains(&anchor)).ok_or_else(contains_itself)?;
        self.open.push(anchor);
        let visited = visit(self, node);
        self.open.pop();
        visited
    }

    fn object(
        &mut self,
        entries: &[Entry],
        depth: usize,
        in_alias: bool,
    ) -> Result<Vec<(String, Document)>, String> {
        let mut fields = Vec::with_capacity(entries.len());
        let mut has_merges = false;
        for entry in entries {
            match entry {
                Entry::Field(name, value) => {
                    self.budget.count(in_alias)?;
                    if in_alias {
                        self.budget.copy(name)?;
                    }
                    fields.push((name.clone(), self.expand(value, depth + 1)?));
                }
                Entry::Merge(_) => has_merges = true,
            }
        }
        if !has_merges {
            return Ok(fields);
        }
        // Explicit fields take precedence over merged ones, and earlier merges over later ones. The last of duplicate
        // fields counts, so merged fields go first.
        let mut names: HashSet<String> = fields.iter().map(|(name, _)| name.clone()).collect();
        let mut merged = Vec::new();
        for entry in entries {
            if let Entry::Merge(node) = entry {
                self.merge(node, depth, &mut names, &mut merged)?;
            }
        }
        merged.append(&mut fields);
        Ok(merged)
    }

    fn merge(
        &mut self,
        node: &Node,
        depth: usize,
        names: &mut HashSet<String>,
        merged: &mut Vec<(String, Document)>,
    ) -> Result<(), String> {
        let objects = match self.expand(node, depth)? {
            Document::List(items) => items,
            object => vec![object],
        };
        for object in objects {
            let Document::Object(fields) = object else {
                return Err("yaml: map merge requires map or sequence of maps as the value".to_owned());
            };
            for (name, value) in fields.into_iter().rev() {
                if names.insert(name.clone()) {
                    merged.push((name, value));
                }
            }
        }
        Ok(())
    }
}

fn check_depth(depth: usize) -> Result<(), String> {
    if depth >= DOCUMENT_DEPTH {
        // expand.E3
        Err(format!("yaml: exceeded max depth of {DOCUMENT_DEPTH}"))
    } else {
        Ok(())
    }
}

fn contains_itself() -> String {
    "yaml: anchor value contains itself".to_owned()
}
