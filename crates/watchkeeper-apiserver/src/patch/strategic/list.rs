//! Lists: merged by element if the schema says so, else replaced.

use std::collections::{HashMap, HashSet};
use std::mem;

use serde_json::Value;

use super::lookup::{Rule, Strategy, Type};
use super::order::{self, Order};
use super::scalar::{Kind, Scalar};
use super::{Object, PATCH, expect_object, merge_key_of, merge_object, unknown_directive};
use crate::patch::PatchError;

/// The meaning of a list in a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    /// Elements to merge.
    Values,
    /// Values to delete.
    Deletion,
}

/// A list after a patch.
pub(super) struct Merged {
    pub(super) items: Vec<Value>,
    /// The order of the live elements for `$setElementOrder`, if the patch has moved them.
    pub(super) live: Option<Order>,
}

/// Merges a list whose elements are of type `element`.
pub(super) fn merge(
    original: Vec<Value>,
    patch: Vec<Value>,
    element: Type<'_>,
    rule: Rule,
    lists: Lists,
) -> Result<Merged, PatchError> {
    if rule.strategy != Strategy::Merge && lists == Lists::Values {
        return Ok(Merged { items: patch, live: None });
    }
    if original.is_empty() && patch.is_empty() {
        return Ok(Merged { items: original, live: None });
    }
    let kind = order::element_kind(&original, &patch)?;
    if kind == Kind::Object {
        return merge_objects(original, patch, element, rule.merge_key);
    }
    let items = match lists {
        Lists::Deletion => {
            let deleted: HashSet<_> = patch.iter().map(Scalar::of).collect();
            original.into_iter().filter(|value| !deleted.contains(&Scalar::of(value))).collect()
        }
        Lists::Values => {
            let live = Order::of(&original, rule.merge_key, kind);
            let wanted = Order::of(&patch, rule.merge_key, kind);
            let mut seen = HashSet::new();
            let both = original.into_iter().chain(patch.iter().cloned());
            let merged = both.filter(|value| seen.insert(Scalar::of(value))).collect();
            let (named, others) = order::partition(merged, &patch, rule.merge_key)?;
            order::interleave(named, others, &wanted, &live, rule.merge_key, kind)?
        }
    };
    Ok(Merged { items, live: None })
}

/// Merges a list of objects by their merge key.
fn merge_objects(
    original: Vec<Value>,
    patch: Vec<Value>,
    element: Type<'_>,
    merge_key: &str,
) -> Result<Merged, PatchError> {
    if merge_key.is_empty() {
        let kind = element.go_kind();
        return Err(PatchError::Internal(format!("cannot merge lists without merge key for {kind}")));
    }
    let length = original.len();
    let (mut kept, patch, replaces) = obey_directives(original, patch, merge_key)?;
    if replaces {
        let live = Order::of(&kept, merge_key, Kind::Object);
        let order = Order::of(&patch, merge_key, Kind::Object);
        let (named, others) = order::partition(patch, &[], merge_key)?;
        let none = Order::of(&[], merge_key, Kind::Object);
        let items = order::interleave(named, others, &none, &order, merge_key, Kind::Object)?;
        return Ok(Merged { items, live: Some(live) });
    }

    let wanted = Order::of(&patch, merge_key, Kind::Object);
    let names: Vec<Value> = patch.iter().map(|element| only_key(element, merge_key)).collect();
    let live = Order::of(&kept, merge_key, Kind::Object);
    let mut places = HashMap::new();
    for (place, element) in kept.iter().enumerate() {
        if let Some(value) = element.get(merge_key) {
            places.entry(Scalar::of(value)).or_insert(place);
        }
    }
    for element_patch in patch {
        let Value::Object(element_patch) = element_patch else {
            continue; // the type of the elements was checked
        };
        let key = Scalar::of(merge_key_of(&element_patch, merge_key)?);
        match places.get(&key) {
            Some(place) => {
                key.comparable()?;
                let Some(Value::Object(current)) = kept.get_mut(*place) else {
                    continue;
                };
                let merged = merge_object(mem::take(current), element_patch, element)?;
                merge_key_of(&merged, merge_key)?; // a null has deleted it
                *current = merged;
            }
            None => {
                places.insert(key, kept.len());
                kept.push(Value::Object(element_patch));
            }
        }
    }
    // Go appends to the list in place: an element after a deletion thereby enters the live order, which is the object's
    // own list, and elements beyond its length do not.
    let shown = &kept[..kept.len().min(length)];
    let seen = Order::of(shown, merge_key, Kind::Object);
    let (named, others) = order::partition(kept, &names, merge_key)?;
    let items = order::interleave(named, others, &wanted, &live, merge_key, Kind::Object)?;
    Ok(Merged { items, live: Some(seen) })
}

/// Applies the elements with a `$patch`: returns the rest of the list, the rest of the patch, and whether the patch
/// replaces the list.
fn obey_directives(
    original: Vec<Value>,
    patch: Vec<Value>,
    merge_key: &str,
) -> Result<(Vec<Value>, Vec<Value>, bool), PatchError> {
    let held: HashSet<_> =
        original.iter().filter_map(|element| element.get(merge_key)).map(Scalar::of).collect();
    let mut replaces = false;
    let mut deleted = HashSet::new();
    let mut elements = Vec::with_capacity(patch.len());
    for element in patch {
        let fields = expect_object(&element)?;
        match fields.get(PATCH) {
            None => elements.push(element),
            Some(Value::String(directive)) if directive == "delete" => {
                let key = Scalar::of(merge_key_of(fields, merge_key)?);
                if held.contains(&key) {
                    key.comparable()?;
                }
                deleted.insert(key);
            }
            Some(Value::String(directive)) if directive == "replace" => replaces = true,
            Some(Value::String(directive)) if directive == "merge" => {
                return Err(PatchError::Internal(
                    "merging lists cannot yet be specified in the patch".to_owned(),
                ));
            }
            Some(other) => return Err(unknown_directive(other, fields)),
        }
    }
    let stays =
        |element: &Value| element.get(merge_key).is_none_or(|key| !deleted.contains(&Scalar::of(key)));
    let kept = if deleted.is_empty() { original } else { original.into_iter().filter(stays).collect() };
    Ok((kept, elements, replaces))
}

/// Returns an element with only its merge key.
fn only_key(element: &Value, merge_key: &str) -> Value {
    let key = element.get(merge_key).map(|key| (merge_key.to_owned(), key.clone()));
    Value::Object(key.into_iter().collect::<Object>())
}
