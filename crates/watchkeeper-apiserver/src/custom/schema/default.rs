//! Defaults: sets the fields of an object that are absent and have a default.
//!
//! Invariants:
//! - `default.D1`: a null in a field that is not nullable counts as absent: it becomes the default, or is dropped.
//! - `default.D2`: defaults are applied to defaults, and applying them twice changes nothing.
//! - `default.D3`: defaults are counted before they are copied, so that a long one for each of many items cannot exhaust
//!   memory.

use serde_json::Value;

use super::node::{Additional, Node};
use crate::size::{DefaultsTooLarge, Growth};

/// Sets the defaults of an object. On an error some of them are missing.
pub(super) fn default(root: &Node, object: &mut Value) -> Result<(), DefaultsTooLarge> {
    drop_nulls(Some(root), object);
    fill(root, object, &mut Growth::default())?;
    drop_nulls(Some(root), object); // defaults can contain nulls
    Ok(())
}

fn drop_nulls(node: Option<&Node>, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|key, value| {
            let child = node.and_then(|node| node.child(key));
            let is_dropped =
                value.is_null() && child.is_some_and(|child| !child.is_nullable && child.default.is_none());
            if !is_dropped {
                drop_nulls(child, value);
            }
            !is_dropped
        }),
        Value::Array(items) => {
            let child = node.and_then(|node| node.items.as_deref());
            for item in items {
                drop_nulls(child, item);
            }
        }
        _ => {}
    }
}

fn fill(node: &Node, value: &mut Value, growth: &mut Growth) -> Result<(), DefaultsTooLarge> {
    match value {
        Value::Object(fields) => {
            for (key, child) in &node.properties {
                let Some(default) = &child.default else { continue };
                if fields.get(key).is_none_or(|value| value.is_null() && !child.is_nullable) {
                    fields.insert(key.clone(), growth.copy(default)?); // default.D3
                }
            }
            for (key, value) in fields {
                match (node.properties.get(key), &node.additional) {
                    (Some(child), _) => fill(child, value, growth)?,
                    (None, Some(Additional::Of(child))) => fill_null(child, value, growth)?,
                    _ => {}
                }
            }
        }
        Value::Array(items) => {
            let Some(child) = &node.items else { return Ok(()) };
            for item in items {
                fill_null(child, item, growth)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn fill_null(node: &Node, value: &mut Value, growth: &mut Growth) -> Result<(), DefaultsTooLarge> {
    if let (true, false, Some(default)) = (value.is_null(), node.is_nullable, &node.default) {
        *value = growth.copy(default)?; // default.D3
    }
    fill(node, value, growth)
}
