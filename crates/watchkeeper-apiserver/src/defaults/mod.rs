//! Defaults: sets the fields of an object that have a default and are absent.
//!
//! Input: a decoded object, sent by a client or the result of a patch.
//! Output: the object as validation and the store expect it.
//!
//! Most defaults are rows of `tables/defaults.txt`; those that depend on other fields are functions that the table names,
//! in the `rules` of their kind.
//!
//! Invariants:
//! - `defaults.D1`: a default never replaces a value; but a field that repeats another follows it.
//! - `defaults.D2`: setting defaults twice changes nothing.

mod amounts;
mod rules;
mod table;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::registry::Resource;
use table::Table;

/// The fields of an object.
pub(crate) type Fields = Map<String, Value>;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    Table::read(include_str!("../../tables/defaults.txt"))
        .unwrap_or_else(|error| panic!("invalid tables/defaults.txt: {error}"))
});

/// Sets the defaults of an object. Only built-in kinds have some.
pub fn apply(resource: &Resource, object: &mut Map<String, Value>) {
    TABLE.apply(&resource.group, &resource.version, &resource.kind, object);
}

/// Returns a string; empty if absent.
pub(crate) fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a number; 0 if absent.
pub(crate) fn number(fields: &Fields, name: &str) -> i64 {
    fields.get(name).and_then(Value::as_i64).unwrap_or_default()
}

/// Sets a field if it is absent or null. An empty string counts as set: the decoder drops those that do not.
pub(crate) fn set(fields: &mut Fields, name: &str, value: impl Into<Value>) {
    if fields.get(name).is_none_or(Value::is_null) {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Returns whether a list or map is empty or absent.
pub(crate) fn is_empty(fields: &Fields, name: &str) -> bool {
    match fields.get(name) {
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        other => other.is_none_or(Value::is_null),
    }
}

/// Returns the objects in a list.
pub(crate) fn objects<'a>(fields: &'a mut Fields, name: &str) -> impl Iterator<Item = &'a mut Fields> {
    let items = fields.get_mut(name).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Returns the object under a name, and creates it if it is absent.
pub(crate) fn made<'a>(fields: &'a mut Fields, name: &str) -> Option<&'a mut Fields> {
    let slot = fields.entry(name).or_insert(Value::Null);
    if slot.is_null() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut()
}
