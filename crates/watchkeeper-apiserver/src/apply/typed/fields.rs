//! Fields: the set of fields of a value.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::apply::element::Element;
use crate::apply::field_set::FieldSet;
use crate::apply::types::{Atom, Listing, Owners, Type};

/// Returns the fields of a value that can have owners (`typed.M1`).
pub(in crate::apply) fn fields_of(value: &Value, of: Type<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    collect(value, of, &mut Vec::new(), &mut set);
    set
}

fn collect(value: &Value, of: Type<'_>, path: &mut Vec<Element>, set: &mut FieldSet) {
    match of.atom(Some(value)) {
        Atom::Scalar(_) | Atom::List(_, Listing::Atomic) => set.insert(path.clone()),
        Atom::Map(map) if map.owners() == Owners::One => set.insert(path.clone()),
        Atom::List(item, listing) => {
            let Value::Array(items) = value else { return };
            let elements: Vec<Option<Element>> =
                items.iter().map(|item| listing.element(item).ok()).collect();
            let (mut seen, mut repeated) = (BTreeSet::new(), BTreeSet::new());
            for element in elements.iter().flatten() {
                if !seen.insert(element) {
                    repeated.insert(element);
                }
            }
            for (value, element) in items.iter().zip(&elements) {
                let Some(element) = element else { continue };
                path.push(element.clone());
                if !repeated.contains(element) {
                    collect(value, Type::One(item), path, set);
                }
                set.insert(path.clone());
                path.pop();
            }
        }
        Atom::Map(map) => {
            for (name, value) in value.as_object().into_iter().flatten() {
                let Some(below) = map.field(name) else { continue };
                path.push(Element::field(name));
                collect(value, below, path, set);
                let is_empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                if is_empty || !map.names(name) {
                    set.insert(path.clone());
                }
                path.pop();
            }
        }
    }
}
