//! Merge: one object over another.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::apply::element::Element;
use crate::apply::types::{Atom, Item, Listing, Owners, Type};

/// Merges `over` into `under`. Returns `None` if nothing is left.
pub(in crate::apply) fn merge(under: Option<&Value>, over: Option<&Value>, of: Type<'_>) -> Option<Value> {
    let atom = match over {
        Some(_) => of.atom(over),
        None => of.atom(under),
    };
    let leaf = || over.or(under).cloned();
    match atom {
        Atom::Scalar(_) | Atom::List(_, Listing::Atomic) => leaf(),
        Atom::Map(map) if map.owners() == Owners::One => leaf(),
        Atom::List(item, listing) => {
            let items =
                |value: Option<&'_ Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
            let (under_items, over_items) = (items(under), items(over));
            if under_items.is_empty() && over_items.is_empty() {
                return leaf();
            }
            let merged = merge_items(&under_items, &over_items, item, listing);
            (!merged.is_empty()).then_some(Value::Array(merged))
        }
        Atom::Map(map) => {
            let fields =
                |value: Option<&'_ Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
            let (under_fields, over_fields) = (fields(under), fields(over));
            if under_fields.is_empty() && over_fields.is_empty() {
                return leaf();
            }
            let mut merged = Map::new();
            for name in under_fields.keys().chain(over_fields.keys()) {
                let Some(below) = map.field(name).filter(|_| !merged.contains_key(name)) else { continue };
                if let Some(value) = merge(under_fields.get(name), over_fields.get(name), below) {
                    merged.insert(name.clone(), value);
                }
            }
            (!merged.is_empty()).then_some(Value::Object(merged))
        }
    }
}

/// Merges lists (`typed.M2`). An item that occurs twice in `under` counts as absent there, and is kept once.
fn merge_items(under: &[Value], over: &[Value], item: Item<'_>, listing: Listing<'_>) -> Vec<Value> {
    let index = |items: &'_ [Value]| -> Vec<(Element, Value)> {
        items.iter().filter_map(|item| Some((listing.element(item).ok()?, item.clone()))).collect()
    };
    let (under, over) = (index(under), index(over));
    let mut of_under: BTreeMap<&Element, Option<&Value>> = BTreeMap::new();
    for (element, value) in &under {
        of_under.entry(element).and_modify(|known| *known = None).or_insert(Some(value));
    }
    let of_over: BTreeMap<&Element, &Value> = over.iter().map(|(element, value)| (element, value)).collect();
    let mut shared = over.iter().map(|(element, _)| element).filter(|element| of_under.contains_key(element));
    let mut next_shared = shared.next();
    let mut done: BTreeSet<&Element> = BTreeSet::new();
    let mut merged = Vec::new();
    let mut put = |under: Option<&Value>, over: Option<&Value>| {
        let null = Value::Null;
        let under = under.filter(|value| **value != null);
        merged.extend(merge(under, over, Type::One(item)));
    };
    let both = |element: &Element| (of_under.get(element).copied().flatten(), of_over.get(element).copied());
    let (mut left, mut right) = (under.iter().peekable(), over.iter().peekable());
    loop {
        match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some((element, _)), Some((other, _))) if element == other => {
                done.insert(element);
                let (under, over) = both(element);
                put(under, over);
                left.next();
                right.next();
                next_shared = shared.next();
                continue;
            }
            // It comes later, at its position in `over`.
            (Some((element, _)), Some(_))
                if of_over.contains_key(element) && next_shared.is_some_and(|next| next != element) =>
            {
                left.next();
                continue;
            }
            _ => {}
        }
        if let Some((element, value)) = left.peek() {
            if !of_over.contains_key(element) {
                put(Some(value), None);
                left.next();
                continue;
            }
            if done.contains(element) {
                left.next();
            }
        }
        if let Some((element, _)) = right.next() {
            done.insert(element);
            let (under, over) = both(element);
            put(under, over);
            if next_shared == Some(element) {
                next_shared = shared.next();
            }
        }
    }
    merged
}
