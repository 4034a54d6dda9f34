//! Lists that are sets or maps: their items or keys are unique.

use std::collections::HashMap;

use serde_json::{Map, Value};
use watchkeeper_core::{Quoted, StatusCause};

use super::node::{Additional, ListType, Node};
use crate::patch::go_text;
use crate::validate::faults::{Faults, json};
use crate::validate::field::{Field, place};

/// Returns the duplicates in all sets and maps of an object.
pub(super) fn repeated(node: &Node, object: &Value) -> Vec<StatusCause> {
    let mut faults = Faults::default();
    fields(node, "", object, &mut faults);
    faults.into_causes()
}

fn fields(node: &Node, path: &str, value: &Value, faults: &mut Faults) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                if let Some(Additional::Of(child)) = &node.additional {
                    fields(child, &place(path, format_args!("[{key}]")), value, faults);
                }
                if let Some(child) = node.properties.get(key) {
                    let path =
                        if path.is_empty() { key.clone() } else { place(path, format_args!(".{key}")) };
                    fields(child, &path, value, faults);
                }
            }
        }
        Value::Array(items) => list(node, path, items, faults),
        _ => {}
    }
}

fn list(node: &Node, path: &str, items: &[Value], faults: &mut Faults) {
    match node.list_type {
        Some(ListType::Set) => {
            for at in again(items) {
                faults.duplicate_value(
                    &Field::at(format!("{path}[{at}]"), &items[at]),
                    printed(&items[at]),
                    "",
                );
            }
        }
        Some(ListType::Map) => map(node, path, items, faults),
        Some(ListType::Atomic) | None => {}
    }
    if let Some(child) = &node.items {
        for (at, item) in items.iter().enumerate() {
            fields(child, &place(path, format_args!("[{at}]")), item, faults);
        }
    }
}

fn map(node: &Node, path: &str, items: &[Value], faults: &mut Faults) {
    if let Some(at) = items.iter().position(|item| !item.is_object() && !item.is_null()) {
        let place = Field::at(format!("{path}[{at}]"), &items[at]);
        faults.invalid_value(&place, printed(&items[at]), "must be an object for an array of list-type map");
        return;
    }
    let keys: Vec<Value> = items.iter().map(|item| Value::Object(key(node, item))).collect();
    for at in again(&keys) {
        let place = Field::at(format!("{path}[{at}]"), &keys[at]);
        faults.duplicate_value(&place, printed(&keys[at]), "");
    }
}

/// Returns the key fields of an item.
pub(super) fn key(node: &Node, item: &Value) -> Map<String, Value> {
    let found = node.list_keys.iter().filter_map(|name| Some((name.clone(), item.get(name)?.clone())));
    found.collect()
}

/// Returns whether an item has all of its key fields.
pub(super) fn has_key(node: &Node, item: &Value) -> bool {
    let is_plain = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    node.list_keys.iter().all(|name| item.get(name).is_some_and(is_plain))
}

/// Returns the indexes of repeated items.
fn again(items: &[Value]) -> Vec<usize> {
    let mut times: HashMap<String, usize> = HashMap::new();
    let mut second = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let times = times.entry(sorted(item).to_string()).or_default();
        *times += 1;
        if *times == 2 {
            second.push(at);
        }
    }
    second
}

/// Formats a value as Go does in messages.
pub(super) fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => Quoted(text).to_string(),
        Value::Number(_) | Value::Bool(_) => go_text(value),
        value => json(&sorted(value)),
    }
}

/// Returns a value with its fields sorted by name, as Go writes maps.
pub(super) fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        value => value.clone(),
    }
}
