//! What was there before: on an update, what is unchanged is not refused.

use serde_json::Value;

use super::list;
use super::node::{ListType, Node};

/// What was in the place of a value before, and the schema of that place.
#[derive(Clone, Copy)]
pub(super) struct Old<'a> {
    pub(super) value: &'a Value,
    pub(super) node: &'a Node,
}

impl<'a> Old<'a> {
    /// What was under a key.
    pub(super) fn key(self, key: &str) -> Option<Self> {
        Some(Self { value: self.value.get(key)?, node: self.node.child(key)? })
    }

    /// What was the item that this one has come of. Only the items of a map can be told apart.
    pub(super) fn item(self, item: &Value) -> Option<Self> {
        let (node, items) = (self.node.items.as_deref()?, self.value.as_array()?);
        if self.node.list_type != Some(ListType::Map) || !list::has_key(self.node, item) {
            return None;
        }
        let key = list::key(self.node, item);
        let value = items.iter().find(|old| list::key(self.node, old) == key)?;
        Some(Self { value, node })
    }

    /// Whether a value is what was there, but for the order of a map's items.
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
