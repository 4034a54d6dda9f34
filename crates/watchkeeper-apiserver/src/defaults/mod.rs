//! Defaults: what the fields of an object are when nobody sets them.
//!
//! From: an object as its kind is written, whether it was sent or is the result of a patch.
//! To:   the same object, as validation and the store expect it.
//!
//! Most defaults are rows of `tables/defaults.txt`; those that depend on other fields are functions here,
//! which the table names.
//!
//! - D1: a default never replaces what is set; but a field that repeats another follows it.
//! - D2: what has its defaults does not change when it is given them again.

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
        .unwrap_or_else(|error| panic!("the committed table of defaults cannot be read: {error}"))
});

/// Gives an object of this resource its defaults. Kinds that are not built in have none.
pub fn apply(resource: &Resource, object: &mut Map<String, Value>) {
    TABLE.apply(&resource.group, &resource.version, &resource.kind, object);
}

/// A text; empty where there is none.
pub(crate) fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A number; 0 where there is none.
pub(crate) fn number(fields: &Fields, name: &str) -> i64 {
    fields.get(name).and_then(Value::as_i64).unwrap_or_default()
}

/// Sets a field that is not set. An empty text that is written down was set: others are not written.
pub(crate) fn set(fields: &mut Fields, name: &str, value: impl Into<Value>) {
    if fields.get(name).is_none_or(Value::is_null) {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Whether a list or a map has nothing in it, or is not there.
pub(crate) fn is_empty(fields: &Fields, name: &str) -> bool {
    match fields.get(name) {
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        other => other.is_none_or(Value::is_null),
    }
}

/// The objects in a list.
pub(crate) fn objects<'a>(fields: &'a mut Fields, name: &str) -> impl Iterator<Item = &'a mut Fields> {
    let items = fields.get_mut(name).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// The object under a name, which is made where it is not there.
pub(crate) fn made<'a>(fields: &'a mut Fields, name: &str) -> Option<&'a mut Fields> {
    let slot = fields.entry(name).or_insert(Value::Null);
    if slot.is_null() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut()
}
