//! Compare: the fields that differ between two objects.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::apply::element::Element;
use crate::apply::field_set::FieldSet;
use crate::apply::types::{Atom, Item, Listing, Owners, Type};

/// The fields that were added, changed and removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::apply) struct Comparison {
    pub(in crate::apply) added: FieldSet,
    pub(in crate::apply) modified: FieldSet,
    pub(in crate::apply) removed: FieldSet,
}

impl Comparison {
    /// Restricts the comparison to some fields.
    pub(in crate::apply) fn filtered(self, filter: impl Fn(FieldSet) -> FieldSet) -> Self {
        Self { added: filter(self.added), modified: filter(self.modified), removed: filter(self.removed) }
    }
}

/// Compares two objects.
pub(in crate::apply) fn compare(before: &Value, after: &Value, of: Type<'_>) -> Comparison {
    let mut walk = Walk::default();
    walk.values(Some(before), Some(after), of);
    walk.found
}

#[derive(Default)]
struct Walk {
    path: Vec<Element>,
    found: Comparison,
}

impl Walk {
    fn values(&mut self, before: Option<&Value>, after: Option<&Value>, of: Type<'_>) {
        let (was, is) = (of.atom(before), of.atom(after));
        let is_leaf = match (before, after) {
            (_, None) => self.atom(was, before, after),
            (Some(_), Some(_)) if !was.is_like(is) => {
                self.atom(was, before, after);
                self.atom(is, before, after)
            }
            _ => self.atom(is, before, after),
        };
        match (before, after) {
            (None, _) if !is_leaf => self.found.added.insert(self.path.clone()),
            (_, None) if !is_leaf => self.found.removed.insert(self.path.clone()),
            _ => {}
        }
    }

    /// Compares leaves (`typed.M1`). Returns whether it was one.
    fn atom(&mut self, atom: Atom<'_>, before: Option<&Value>, after: Option<&Value>) -> bool {
        match atom {
            Atom::Scalar(_) | Atom::List(_, Listing::Atomic) => self.leaf(before, after),
            Atom::Map(map) if map.owners() == Owners::One => self.leaf(before, after),
            Atom::List(item, listing) => {
                let items =
                    |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
                let (before_items, after_items) = (items(before), items(after));
                if before_items.is_empty() && after_items.is_empty() {
                    return self.leaf(before, after);
                }
                self.items(&before_items, &after_items, item, listing);
                false
            }
            Atom::Map(map) => {
                let fields =
                    |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
                let (before_fields, after_fields) = (fields(before), fields(after));
                if before_fields.is_empty() && after_fields.is_empty() {
                    return self.leaf(before, after);
                }
                let added = after_fields.keys().filter(|name| !before_fields.contains_key(*name));
                for name in before_fields.keys().chain(added) {
                    let Some(below) = map.field(name) else { continue };
                    self.path.push(Element::field(name));
                    self.values(before_fields.get(name), after_fields.get(name), below);
                    self.path.pop();
                }
                false
            }
        }
    }

    fn leaf(&mut self, before: Option<&Value>, after: Option<&Value>) -> bool {
        let set = match (before, after) {
            (None, _) => &mut self.found.added,
            (_, None) => &mut self.found.removed,
            (Some(before), Some(after)) if same(before, after) => return true,
            _ => &mut self.found.modified,
        };
        set.insert(self.path.clone());
        true
    }

    /// Compares lists; items with the same identity are compared together.
    fn items(&mut self, before: &[Value], after: &[Value], item: Item<'_>, listing: Listing<'_>) {
        let mut both: BTreeMap<Element, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for value in before {
            if let Ok(element) = listing.element(value) {
                both.entry(element).or_default().0.push(value);
            }
        }
        for value in after {
            if let Ok(element) = listing.element(value) {
                both.entry(element).or_default().1.push(value);
            }
        }
        for (element, (before, after)) in both {
            self.path.push(element);
            let of = Type::One(item);
            match (&before[..], &after[..]) {
                ([] | [_], [] | [_]) => {
                    self.values(before.first().copied(), after.first().copied(), of);
                }
                ([_, _, ..], [_, _, ..]) => {
                    let is_same = before.len() == after.len()
                        && before.iter().zip(&after).all(|(before, after)| same(before, after));
                    if !is_same {
                        self.found.modified.insert(self.path.clone());
                    }
                }
                (_, [] | [_]) => {
                    if let Some(after) = after.first() {
                        self.values(None, Some(after), of);
                    }
                    self.found.removed.insert(self.path.clone());
                }
                _ => {
                    if let Some(before) = before.first() {
                        self.values(Some(before), None, of);
                    }
                    self.found.added.insert(self.path.clone());
                }
            }
            self.path.pop();
        }
    }
}

/// Returns whether two values are equal; 1 equals 1.0.
pub(in crate::apply) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}
