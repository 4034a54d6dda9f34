//! Pruning: drops fields that a schema does not know.
//!
//! Invariants:
//! - `prune.P1`: everything else keeps its value and its position. Pruning is idempotent.
//! - `prune.P2`: `apiVersion`, `kind` and `metadata` of the object and of embedded objects stay; unknown fields of
//!   `metadata` are dropped.
//! - `prune.P3`: the reported paths are bounded in number and length, whatever the object: see [`Dropped`].

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::dropped::Dropped;
use super::metadata;
use super::node::{Additional, Node};

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Prunes a whole object, and returns the paths of dropped fields, sorted.
pub(super) fn prune(root: &Node, object: &mut Value) -> Vec<String> {
    let mut pruner = Pruner::default();
    let in_metadata = metadata::prune(object);
    pruner.value(Some(root), true, object);
    let mut embedded = Dropped::default();
    prune_embedded(root, false, &mut String::new(), object, &mut embedded);
    let dropped = in_metadata.into_iter().chain(pruner.dropped.into_sorted()).chain(embedded.into_sorted());
    dropped.collect()
}

/// Returns whether pruning leaves a value unchanged, as an embedded object or as a part of one.
pub(super) fn is_pruned(node: &Node, value: &Value) -> bool {
    let mut pruner = Pruner::default();
    pruner.value(Some(node), node.is_embedded, &mut value.clone());
    pruner.dropped.is_empty()
}

#[derive(Default)]
struct Pruner {
    path: String,
    dropped: Dropped,
}

impl Pruner {
    fn value(&mut self, node: Option<&Node>, is_embedded: bool, value: &mut Value) {
        let keeps_unknown = node.is_some_and(|node| node.keeps_unknown);
        match value {
            Value::Object(fields) => self.fields(node, is_embedded, keeps_unknown, fields),
            Value::Array(items) => {
                let child = node.and_then(|node| node.items.as_deref());
                for (at, item) in items.iter_mut().enumerate() {
                    let length = self.path.len();
                    let _ = write!(self.path, "[{at}]"); // writing to a String does not fail
                    match (keeps_unknown, child) {
                        (true, None) => {}
                        (true, Some(child)) => self.kept(child, item),
                        (false, child) => {
                            self.value(child, child.is_some_and(|child| child.is_embedded), item);
                        }
                    }
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Prunes below an item that preserves unknown fields: only the fields that its schema names.
    fn kept(&mut self, node: &Node, value: &mut Value) {
        match value {
            Value::Object(fields) => self.fields(Some(node), node.is_embedded, true, fields),
            Value::Array(items) => {
                let Some(child) = node.items.as_deref() else { return };
                for (at, item) in items.iter_mut().enumerate() {
                    let length = self.path.len();
                    let _ = write!(self.path, "[{at}]"); // writing to a String does not fail
                    self.kept(child, item);
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn fields(
        &mut self,
        node: Option<&Node>,
        is_embedded: bool,
        keeps_unknown: bool,
        fields: &mut Map<String, Value>,
    ) {
        let is_root = self.path.is_empty();
        fields.retain(|key, value| {
            if is_embedded && META.contains(&key.as_str()) {
                return true;
            }
            let child = match node {
                None => None,
                Some(node) => match (node.properties.get(key), &node.additional) {
                    (Some(child), _) => Some(Some(child)),
                    (None, Some(Additional::Of(child))) => Some(Some(&**child)),
                    (None, Some(Additional::Any | Additional::None)) => Some(None),
                    (None, None) => None,
                },
            };
            let length = self.path.len();
            if !is_root {
                self.path.push('.');
            }
            self.path.push_str(key);
            let is_kept = match child {
                Some(child) => {
                    self.value(child, child.is_some_and(|child| child.is_embedded), value);
                    true
                }
                None if keeps_unknown => true,
                None => {
                    self.dropped.add(&self.path);
                    false
                }
            };
            self.path.truncate(length);
            is_kept
        });
    }
}

/// Prunes the metadata of embedded objects. `path` is restored before it returns.
fn prune_embedded(
    node: &Node,
    is_embedded: bool,
    path: &mut String,
    value: &mut Value,
    dropped: &mut Dropped,
) {
    if is_embedded {
        metadata::prune_into(value, path, dropped);
    }
    let length = path.len();
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let Some(child) = node.child(key) else { continue };
                let _ = match (length, node.properties.contains_key(key)) {
                    (0, _) => write!(path, "{key}"),
                    (_, true) => write!(path, ".{key}"),
                    (_, false) => write!(path, "[{key}]"),
                };
                prune_embedded(child, child.is_embedded, path, value, dropped);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            let Some(child) = &node.items else { return };
            for (at, item) in items.iter_mut().enumerate() {
                let _ = write!(path, "[{at}]");
                prune_embedded(child, child.is_embedded, path, item, dropped);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
