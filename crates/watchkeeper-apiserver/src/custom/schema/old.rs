//! Old values: on an update, unchanged values are not refused.

use serde_json::Value;

use super::list;
use super::node::{ListType, Node};

/// The value that another replaces, and its schema.
#[derive(Clone, Copy)]
pub(super) struct Old<'a> {
    pub(super) value: &'a Value,
    pub(super) node: &'a Node,
}

impl<'a> Old<'a> {
    /// Returns the old value of a field.
    pub(super) fn key(self, key: &str) -> Option<Self> {
        Some(Self { value: self.value.get(key)?, node: self.node.child(key)? })
    }

    /// Returns the old value of an item. Only items of maps can be correlated.
    pub(super) fn item(self, item: &Value) -> Option<Self> {
        let (node, items) = (self.node.items.as_deref()?, self.value.as_array()?);
        if self.node.list_type != Some(ListType::Map) || !list::has_key(self.node, item) {
            return None;
        }
        let key = list::key(self.node, item);
        let value = items.iter().find(|old| list::key(self.node, old) == key)?;
        Some(Self { value, node })
    }

    /// Returns whether a value is unchanged, except for the order of the items of maps.
    pub(super) fn is_same(self, value: &Value) -> bool {
        match (value, self.value) {
            (Value::Array(new), Value::Array(old)) if self.node.list_type == Some(ListType::Map) => {
                let is_kept = |item: &Value| self.item(item).is_some_and(|old| old.is_same(item));
                new.len() == old.len() && new.iter().all(is_kept)
            }
            (Value::Object(new), Value::Object(old)) => {
                let is_kept =
                    |(key, value): (&String, &Value)| self.key(key).is_some_and(|old| old.is_same(value));
                new.len() == old.len() && new.iter().all(is_kept)
            }
            (new, old) => new == old,
        }
    }
}
