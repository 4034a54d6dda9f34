//! Defaults in a schema: they must be valid and pruned.

use serde_json::Value;

use super::super::list::printed;
use super::super::metadata;
use super::super::node::{Node, Reading};
use super::super::prune::is_pruned;
use super::super::validate::validate;
use crate::validate::faults::Faults;
use crate::validate::field::Field;

/// Checks the defaults of a structural schema.
pub(super) fn check(schema: &Field<'_>, faults: &mut Faults) {
    // Compiling the schema of the version refuses what is nested too deep.
    if let Ok(mut node) = Node::compile(schema.value(), Reading::Defaults) {
        node.is_embedded = true;
        walk(&node, false, schema.path(), faults);
    }
}

fn walk(node: &Node, is_in_metadata: bool, path: &str, faults: &mut Faults) {
    let is_in_metadata = is_in_metadata && !node.is_embedded;
    if let Some(default) = &node.default {
        check_default(node, is_in_metadata, &format!("{path}.default"), default, faults);
    }
    if let Some(items) = &node.items {
        walk(items, is_in_metadata, &format!("{path}.items"), faults);
    }
    for (name, property) in &node.properties {
        let is_meta = node.is_embedded && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
        walk(property, is_in_metadata || is_meta, &format!("{path}.properties[{name}]"), faults);
    }
}

fn check_default(node: &Node, is_in_metadata: bool, path: &str, default: &Value, faults: &mut Faults) {
    if !is_in_metadata && !is_pruned(node, default) {
        faults.invalid_value(&Field::at(path, default), printed(default), "must not have unknown fields");
    }
    let found =
        if is_in_metadata { Vec::new() } else { metadata::embedded(node, node.is_embedded, path, default) };
    if found.is_empty() {
        faults.extend(validate(node, Some(path), default, None));
    } else {
        faults.extend(found);
    }
}
