//! Remove: drops fields from an object.

use serde_json::{Map, Value};

use crate::apply::element::Element;
use crate::apply::field_set::FieldSet;
use crate::apply::types::{Atom, Listing, Owners, Type};

/// Returns the value without these fields; `null` if nothing is left.
pub(in crate::apply) fn remove(value: &Value, fields: &FieldSet, of: Type<'_>) -> Value {
    match (of.atom(Some(value)), value) {
        (Atom::Scalar(_), value) => value.clone(),
        (Atom::List(_, Listing::Atomic), _) => Value::Null,
        (Atom::Map(map), _) if map.owners() == Owners::One => Value::Null,
        (Atom::List(item, listing), Value::Array(items)) => {
            let kept = items.iter().filter_map(|value| match listing.element(value) {
                Ok(element) if fields.has(&element) => None,
                Ok(element) => Some(without_parts(value, fields.below(&element), Type::One(item))),
                Err(_) => Some(value.clone()),
            });
            let kept: Vec<Value> = kept.collect();
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        (Atom::Map(map), Value::Object(all)) => {
            let mut kept = Map::new();
            for (name, value) in all {
                let element = Element::field(name);
                if fields.has(&element) {
                    continue;
                }
                let value = match map.field(name) {
                    Some(below) => without_parts(value, fields.below(&element), below),
                    None => value.clone(),
                };
                kept.insert(name.clone(), value);
            }
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        _ => Value::Null,
    }
}

fn without_parts(value: &Value, fields: Option<&FieldSet>, of: Type<'_>) -> Value {
    match fields {
        Some(fields) => remove(value, fields, of),
        None => value.clone(),
    }
}
