//! Order: by namespace and name, or by a field first.
//!
//! - O1: what has no such field comes before what has, numbers before texts, and what is equal by namespace and name;
//!   a descending order turns all but the last around.

use std::cmp::Ordering;
use std::sync::Arc;

use watchkeeper_core::{GroupVersionKind, Object, ObjectKey};
use watchkeeper_wire::{FieldPath, Kind, read_field};

use crate::envelope::Failure;
use crate::fields::check;
use crate::secret::may_compare;

/// In which order objects come.
#[derive(Debug, Default)]
pub(super) struct Order(Option<(FieldPath, Direction)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Ascending,
    Descending,
}

/// An object, and what it is sorted by.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) object: Arc<Object>,
    pub(super) value: Option<Box<str>>,
}

/// Where an entry stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing<'a> {
    pub(super) value: Option<&'a str>,
    pub(super) key: &'a ObjectKey,
}

impl Order {
    /// Reads an order for objects of a kind.
    pub(super) fn read(text: &str, kind: &GroupVersionKind) -> Result<Self, Failure> {
        let (direction, path) = match text.strip_prefix('-') {
            Some(path) => (Direction::Descending, path),
            None => (Direction::Ascending, text),
        };
        if text.is_empty() {
            return Ok(Self(None));
        }
        let text = path.strip_prefix('.').unwrap_or(path);
        let path = text.parse().map_err(|why| Failure::bad(format!("sort: {why}")))?;
        if !may_compare(kind, &path) {
            return Err(Failure::bad(format!("sort: nobody sorts Secrets by {text}")));
        }
        check(kind, &path).map_err(|why| Failure::bad(format!("sort: {why}")))?;
        Ok(Self(Some((path, direction))))
    }

    /// Puts objects in order, which come by namespace and name.
    pub(super) fn sort(&self, objects: Vec<Arc<Object>>, kind: &Kind) -> Vec<Entry> {
        let Some((path, _)) = &self.0 else {
            return objects.into_iter().map(|object| Entry { object, value: None }).collect();
        };
        let entry = |object: Arc<Object>| {
            let mut value = None;
            // One that cannot be read has no such field.
            let _ = read_field(&object.encoded, kind, path, &mut |found| {
                value.get_or_insert_with(|| found.into());
            });
            Entry { object, value }
        };
        let mut entries: Vec<Entry> = objects.into_iter().map(entry).collect();
        entries.sort_by(|one, other| self.compare(one.standing(), other.standing()));
        entries
    }

    /// Whether an entry comes after a place.
    pub(super) fn is_after(&self, entry: &Entry, place: Standing<'_>) -> bool {
        self.compare(entry.standing(), place).is_gt()
    }

    fn compare(&self, one: Standing<'_>, other: Standing<'_>) -> Ordering {
        let by_value = match self.0 {
            Some((_, Direction::Ascending)) => compare_values(one.value, other.value),
            Some((_, Direction::Descending)) => compare_values(other.value, one.value),
            None => Ordering::Equal,
        };
        by_value.then_with(|| one.key.cmp(other.key))
    }
}

impl Entry {
    pub(super) fn standing(&self) -> Standing<'_> {
        Standing { value: self.value.as_deref(), key: self.object.head.key() }
    }
}

/// O1.
fn compare_values(one: Option<&str>, other: Option<&str>) -> Ordering {
    let (Some(one), Some(other)) = (one, other) else { return one.cmp(&other) };
    match (number(one), number(other)) {
        (Some(first), Some(second)) => first.total_cmp(&second).then_with(|| one.cmp(other)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

/// A text that is a number and could not be the name of something.
fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_and_texts_are_spelled() {
        let in_order =
            [None, Some("-3"), Some("0.5"), Some("9"), Some("10"), Some(""), Some("1e5"), Some("a")];
        for (at, one) in in_order.iter().enumerate() {
            for (other_at, other) in in_order.iter().enumerate() {
                assert_eq!(compare_values(*one, *other), at.cmp(&other_at), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn only_a_path_can_be_sorted_by() {
        let pod = GroupVersionKind::new("", "v1", "Pod");
        for good in ["", "metadata.name", "-status.startTime", ".spec.nodeName"] {
            assert!(Order::read(good, &pod).is_ok(), "{good:?}");
        }
        for bad in ["-", "a..b", "[", "--a."] {
            assert!(Order::read(bad, &pod).is_err(), "{bad:?}");
        }
    }
}
