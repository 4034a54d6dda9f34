//! Order: the order of a merged list.
//!
//! Elements that the patch names are in the order of the patch, the others in the live order. The two are interleaved so
//! that an element of only the live list stays before the elements that followed it.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::scalar::{Kind, Scalar};
use super::{PATCH, SET_ELEMENT_ORDER, expect_object, merge_key_of};
use crate::patch::{PatchError, gofmt};

/// Up to this length Go uses insertion sort.
const SORTED_BY_INSERTION: usize = 20;

/// An order of elements, by merge key for objects, else by value.
pub(super) struct Order {
    places: HashMap<Scalar, usize>,
    /// The error of the first element that cannot be ordered.
    flaw: Option<PatchError>,
}

impl Order {
    /// Returns the order of these elements, which have one type.
    pub(super) fn of(items: &[Value], merge_key: &str, kind: Kind) -> Self {
        let mut order = Self { places: HashMap::new(), flaw: None };
        for (place, item) in items.iter().enumerate() {
            let key = match kind {
                Kind::Object => expect_object(item).and_then(|element| merge_key_of(element, merge_key)),
                _ => Ok(item),
            };
            match key {
                Ok(key) => {
                    order.places.entry(Scalar::of(key)).or_insert(place);
                }
                Err(error) => {
                    order.flaw = Some(error);
                    break;
                }
            }
        }
        order
    }

    fn place(&self, key: &Scalar) -> Option<usize> {
        self.places.get(key).copied()
    }

    fn sound(&self) -> Result<(), PatchError> {
        self.flaw.clone().map_or(Ok(()), Err)
    }
}

/// Returns the common type of all elements of both lists.
pub(super) fn element_kind(original: &[Value], patch: &[Value]) -> Result<Kind, PatchError> {
    let mut items = original.iter().chain(patch);
    let Some(first) = items.next() else {
        return Err(PatchError::Internal("no elements in any of the given slices".to_owned()));
    };
    let kind = Kind::of(first);
    match kind {
        Kind::Null => Err(PatchError::Internal("a list that is merged begins with null".to_owned())),
        Kind::List => Err(PatchError::Unprocessable("lists of lists are not supported".to_owned())),
        _ if items.all(|item| Kind::of(item) == kind) => Ok(kind),
        _ => {
            let (original, patch) = (gofmt::v_list(original), gofmt::v_list(patch));
            Err(PatchError::Internal(format!("list element types are not identical: [{original} {patch}]")))
        }
    }
}

/// Refuses a patch whose elements are not in the order that it sets, or are missing from it.
pub(super) fn check(patch: &[Value], order: &[Value], merge_key: &str) -> Result<(), PatchError> {
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    let mut elements = Vec::with_capacity(patch.len());
    for element in patch {
        if merge_key.is_empty() || !is_deletion(expect_object(element)?) {
            elements.push(element);
        }
    }
    let mut elements = elements.into_iter().peekable();
    let mut order_left = order.iter().peekable();
    while let (Some(element), Some(wanted)) = (elements.peek(), order_left.peek()) {
        if element.get(PATCH).is_some() {
            elements.next();
            continue;
        }
        if same_element(element, wanted, merge_key)? {
            elements.next();
        }
        order_left.next();
    }
    if elements.peek().is_some() {
        let (patch, order) = (gofmt::v_list(patch), gofmt::v_list(order));
        return Err(PatchError::Internal(format!(
            "The order in patch list:\n{patch}\n doesn't match {SET_ELEMENT_ORDER} list:\n{order}\n"
        )));
    }
    Ok(())
}

fn same_element(left: &Value, right: &Value, merge_key: &str) -> Result<bool, PatchError> {
    if merge_key.is_empty() {
        return Scalar::equal(left, right);
    }
    let (left, right) = (expect_object(left)?, expect_object(right)?);
    Scalar::equal(merge_key_of(left, merge_key)?, merge_key_of(right, merge_key)?)
}

fn is_deletion(element: &serde_json::Map<String, Value>) -> bool {
    element.get(PATCH).and_then(Value::as_str) == Some("delete")
}

/// Splits the elements into those in `named` and the others; both keep their order.
pub(super) fn partition(
    items: Vec<Value>,
    named: &[Value],
    merge_key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    if merge_key.is_empty() {
        let named = named.iter().map(Scalar::hashed).collect::<Result<HashSet<_>, _>>()?;
        for item in items {
            let side = if named.contains(&Scalar::hashed(&item)?) { &mut inside } else { &mut outside };
            side.push(item);
        }
        return Ok((inside, outside));
    }
    // An element other than an object ends the search.
    let flaw = named.iter().position(|element| !element.is_object());
    let sound = &named[..flaw.unwrap_or(named.len())];
    let names: HashSet<_> =
        sound.iter().filter_map(|element| element.get(merge_key)).map(Scalar::of).collect();
    for item in items {
        let key = Scalar::of(merge_key_of(expect_object(&item)?, merge_key)?);
        if names.contains(&key) {
            key.comparable()?;
            inside.push(item);
        } else if let Some(place) = flaw {
            return Err(PatchError::Internal(format!("value for key {place} is not a map")));
        } else {
            outside.push(item);
        }
    }
    Ok((inside, outside))
}

/// Interleaves the elements that the patch names, in its order, with the others, in the live order.
pub(super) fn interleave(
    named: Vec<Value>,
    others: Vec<Value>,
    wanted: &Order,
    live: &Order,
    merge_key: &str,
    kind: Kind,
) -> Result<Vec<Value>, PatchError> {
    let named = sort(named, wanted, merge_key, kind)?;
    let others = sort(others, live, merge_key, kind)?;
    let mut all = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (key, item) in named {
        while let Some(other) = others.next_if(|(other, _)| {
            matches!((live.place(other), live.place(&key)), (Some(other), Some(named)) if other < named)
        }) {
            all.push(other.1);
        }
        all.push(item);
    }
    all.extend(others.map(|(_, item)| item));
    Ok(all)
}

/// Sorts elements by an order and returns each with its key; deletions come last.
fn sort(
    items: Vec<Value>,
    order: &Order,
    merge_key: &str,
    kind: Kind,
) -> Result<Vec<(Scalar, Value)>, PatchError> {
    let (mut sorted, mut deletions) = (Vec::with_capacity(items.len()), Vec::new());
    for item in items {
        if kind == Kind::Object {
            let element = expect_object(&item)?;
            let key = Scalar::of(merge_key_of(element, merge_key)?);
            if is_deletion(element) { &mut deletions } else { &mut sorted }.push((key, item));
        } else {
            sorted.push((Scalar::of(&item), item));
        }
    }
    if kind == Kind::Object {
        order.sound()?;
    }
    let mut placed: Vec<_> = sorted.into_iter().map(|(key, item)| (order.place(&key), key, item)).collect();
    if placed.len() <= SORTED_BY_INSERTION && placed.iter().any(|(place, _, _)| place.is_none()) {
        // In Go's comparison an element without a position is smaller than any other, and any other smaller than it. Its
        // insertion sort moves every such element to the front.
        for end in 1..placed.len() {
            for at in (1..=end).rev() {
                let smaller = match (placed[at].0, placed[at - 1].0) {
                    (Some(this), Some(other)) => this < other,
                    _ => true,
                };
                if !smaller {
                    break;
                }
                placed.swap(at, at - 1);
            }
        }
    } else {
        placed.sort_by_key(|(place, _, _)| place.unwrap_or(usize::MAX));
    }
    let sorted = placed.into_iter().map(|(_, key, item)| (key, item));
    Ok(sorted.chain(deletions).collect())
}
