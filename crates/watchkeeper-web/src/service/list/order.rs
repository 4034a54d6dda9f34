//! Order of a list: by namespace and name, or by a field first.
//!
//! - `order.O1`: objects without the field come first, then numbers, then other strings; equal values are ordered by
//!   namespace and name. A descending order reverses all but the last.

use std::cmp::Ordering;
use std::sync::Arc;

use watchkeeper_core::{GroupVersionKind, Object, ObjectKey};
use watchkeeper_wire::{FieldPath, Kind, read_field};

use crate::envelope::Failure;
use crate::fields::check;
use crate::secret::may_compare;

/// The order of a list.
#[derive(Debug, Default)]
pub(super) struct Order(Option<(FieldPath, Direction)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Ascending,
    Descending,
}

/// An object and its sort value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) object: Arc<Object>,
    pub(super) value: Option<Box<str>>,
}

/// Position of an entry in the order.
#[derive(Debug, Clone, Copy)]
pub(super) struct SortPosition<'a> {
    pub(super) value: Option<&'a str>,
    pub(super) key: &'a ObjectKey,
}

impl Order {
    /// Parses an order for objects of a kind.
    pub(super) fn read(text: &str, kind: &GroupVersionKind) -> Result<Self, Failure> {
        let (direction, path) = match text.strip_prefix('-') {
            Some(path) => (Direction::Descending, path),
            None => (Direction::Ascending, text),
        };
        if text.is_empty() {
            return Ok(Self(None));
        }
        let text = path.strip_prefix('.').unwrap_or(path);
        let path = text.parse().map_err(|why| Failure::bad_request(format!("sort: {why}")))?;
        if !may_compare(kind, &path) {
            return Err(Failure::bad_request(format!("sort: Secrets cannot be sorted by {text}")));
        }
        check(kind, &path).map_err(|why| Failure::bad_request(format!("sort: {why}")))?;
        Ok(Self(Some((path, direction))))
    }

    /// Sorts objects that are already ordered by namespace and name.
    pub(super) fn sort(&self, objects: Vec<Arc<Object>>, kind: &Kind) -> Vec<Entry> {
        let Some((path, _)) = &self.0 else {
            return objects.into_iter().map(|object| Entry { object, value: None }).collect();
        };
        let entry = |object: Arc<Object>| {
            let mut value = None;
            // An object that cannot be decoded does not have the field.
            let _ = read_field(&object.encoded, kind, path, &mut |found| {
                value.get_or_insert_with(|| found.into());
            });
            Entry { object, value }
        };
        let mut entries: Vec<Entry> = objects.into_iter().map(entry).collect();
        entries.sort_by(|one, other| self.compare(one.standing(), other.standing()));
        entries
    }

    /// Returns whether an entry comes after a position.
    pub(super) fn is_after(&self, entry: &Entry, place: SortPosition<'_>) -> bool {
        self.compare(entry.standing(), place).is_gt()
    }

    fn compare(&self, one: SortPosition<'_>, other: SortPosition<'_>) -> Ordering {
        let by_value = match self.0 {
            Some((_, Direction::Ascending)) => compare_values(one.value, other.value),
            Some((_, Direction::Descending)) => compare_values(other.value, one.value),
            None => Ordering::Equal,
        };
        by_value.then_with(|| one.key.cmp(other.key))
    }
}

impl Entry {
    pub(super) fn standing(&self) -> SortPosition<'_> {
        SortPosition { value: self.value.as_deref(), key: self.object.metadata.key() }
    }
}

/// Compares sort values (`order.O1`).
fn compare_values(one: Option<&str>, other: Option<&str>) -> Ordering {
    let (Some(one), Some(other)) = (one, other) else { return one.cmp(&other) };
    match (number(one), number(other)) {
        (Some(first), Some(second)) => first.total_cmp(&second).then_with(|| one.cmp(other)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

/// Parses a plain decimal number; excludes text such as `1e5`, which could be a name.
fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_by_value_and_before_strings() {
        let in_order =
            [None, Some("-3"), Some("0.5"), Some("9"), Some("10"), Some(""), Some("1e5"), Some("a")];
        for (at, one) in in_order.iter().enumerate() {
            for (other_at, other) in in_order.iter().enumerate() {
                assert_eq!(compare_values(*one, *other), at.cmp(&other_at), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn invalid_paths_are_rejected() {
        let pod = GroupVersionKind::new("", "v1", "Pod");
        for good in ["", "metadata.name", "-status.startTime", ".spec.nodeName"] {
            assert!(Order::read(good, &pod).is_ok(), "{good:?}");
        }
        for bad in ["-", "a..b", "[", "--a."] {
            assert!(Order::read(bad, &pod).is_err(), "{bad:?}");
        }
    }
}
