//! Evaluation of paths.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::number::Number;
use super::{End, Filter, Operator, Part, Step};

/// An error from evaluating a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// Items of a value that is not a list.
    #[error("{0} is not a list")]
    NotAList(&'static str),
    /// An index out of bounds.
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds {
        /// The requested index.
        index: i64,
        /// The length of the list.
        length: usize,
    },
    /// A slice that ends before its start.
    #[error("starting index {from} is greater than ending index {to}")]
    Backwards {
        /// The start.
        from: i64,
        /// The end.
        to: i64,
    },
    /// The step of a slice is not positive.
    #[error("step must be > 0")]
    Step,
    /// A comparison of several values.
    #[error("can only compare one element at a time")]
    Several,
    /// A comparison of values of different types.
    #[error("incompatible types for comparison")]
    Incomparable,
}

pub(super) type Found<'a> = Vec<Cow<'a, Value>>;

pub(super) fn find<'a>(steps: &[Step], from: Found<'a>) -> Result<Found<'a>, FindError> {
    steps.iter().try_fold(from, |found, step| take(step, found))
}

/// Collects the values of each part.
pub(super) fn results(parts: &[Part], value: &Value, all: &mut Vec<Vec<Value>>) -> Result<(), FindError> {
    for part in parts {
        match part {
            Part::Text(text) => all.push(vec![Value::from(text.as_str())]),
            Part::Values(steps) => {
                let found = find(steps, vec![Cow::Borrowed(value)])?;
                all.push(found.into_iter().map(Cow::into_owned).collect());
            }
            Part::Range(steps, parts) => {
                for value in find(steps, vec![Cow::Borrowed(value)])? {
                    results(parts, &value, all)?;
                }
            }
        }
    }
    Ok(())
}

fn take<'a>(step: &Step, from: Found<'a>) -> Result<Found<'a>, FindError> {
    let mut found = Vec::new();
    match step {
        Step::Field(name) => found.extend(from.into_iter().filter_map(|value| field(value, name))),
        Step::Each => found.extend(from.into_iter().flat_map(children)),
        Step::Deep => from.into_iter().for_each(|value| descend(value, &mut found)),
        Step::Slice { from: first, to, step } => {
            for value in from.into_iter().filter(|value| !value.is_null()) {
                found.extend(slice(value, *first, *to, *step)?);
            }
        }
        Step::Filter(filter) => {
            for value in from {
                for item in items(value)? {
                    if filter.matches(&item)? {
                        found.push(item);
                    }
                }
            }
        }
        Step::Union(all) => {
            for steps in all {
                found.extend(find(steps, from.clone())?);
            }
        }
        Step::Literal(value) => found.push(Cow::Owned(value.clone())),
    }
    Ok(found)
}

fn field<'a>(value: Cow<'a, Value>, name: &str) -> Option<Cow<'a, Value>> {
    match value {
        Cow::Borrowed(value) => value.as_object()?.get(name).map(Cow::Borrowed),
        Cow::Owned(mut value) => value.as_object_mut()?.remove(name).map(Cow::Owned),
    }
}

/// Returns the elements of a list, or of an object sorted by name.
fn children(value: Cow<'_, Value>) -> Found<'_> {
    match value {
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Array(items)) => items.into_iter().map(Cow::Owned).collect(),
        Cow::Borrowed(Value::Object(fields)) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            fields.into_iter().map(|(_, value)| Cow::Borrowed(value)).collect()
        }
        Cow::Owned(Value::Object(fields)) => {
            let mut fields: Vec<_> = fields.into_iter().collect();
            fields.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            fields.into_iter().map(|(_, value)| Cow::Owned(value)).collect()
        }
        _ => Vec::new(),
    }
}

/// Collects a value and all descendants that have children.
fn descend<'a>(value: Cow<'a, Value>, found: &mut Found<'a>) {
    let children = children(value.clone());
    if !children.is_empty() {
        found.push(value);
        children.into_iter().for_each(|child| descend(child, found));
    }
}

fn items(value: Cow<'_, Value>) -> Result<Found<'_>, FindError> {
    match &*value {
        Value::Array(_) => Ok(children(value)),
        other => Err(FindError::NotAList(name_of(other))),
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

fn slice(
    value: Cow<'_, Value>,
    first: Option<i64>,
    to: End,
    step: Option<i64>,
) -> Result<impl Iterator<Item = Cow<'_, Value>>, FindError> {
    let items = items(value)?;
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let from_the_end = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
    let from = from_the_end(first.unwrap_or(0));
    let to = match to {
        End::One => from.saturating_add(1),
        End::At(to) => from_the_end(to),
        End::Last => length,
    };
    let out = |index| Err(FindError::OutOfBounds { index, length: items.len() });
    if from != to {
        if !(0..length).contains(&from) {
            return out(from);
        }
        if !(0..=length).contains(&to) {
            return out(to - 1);
        }
        if from > to {
            return Err(FindError::Backwards { from, to });
        }
    }
    let step = usize::try_from(step.unwrap_or(1)).ok().filter(|step| *step > 0).ok_or(FindError::Step)?;
    let (skipped, taken) = if from == to {
        (0, 0)
    } else {
        (usize::try_from(from).unwrap_or(0), usize::try_from(to - from).unwrap_or(0))
    };
    Ok(items.into_iter().skip(skipped).take(taken).step_by(step))
}

impl Filter {
    fn matches(&self, item: &Value) -> Result<bool, FindError> {
        let of_item = || vec![Cow::Borrowed(item)];
        let Some((operator, right)) = &self.comparison else {
            return Ok(find(&self.left, of_item()).is_ok_and(|left| !left.is_empty()));
        };
        let Some(left) = only(find(&self.left, of_item())?)? else { return Ok(false) };
        let Some(right) = only(find(right, of_item())?)? else { return Ok(false) };
        operator.holds(&left, &right)
    }
}

fn only(mut values: Found<'_>) -> Result<Option<Cow<'_, Value>>, FindError> {
    match values.len() {
        0 | 1 => Ok(values.pop()),
        _ => Err(FindError::Several),
    }
}

impl Operator {
    fn holds(self, left: &Value, right: &Value) -> Result<bool, FindError> {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) => {
                Number::from(left).compare(&Number::from(right)).ok_or(FindError::Incomparable)?
            }
            (Value::Bool(left), Value::Bool(right)) => match self {
                Self::Equal | Self::NotEqual => left.cmp(right),
                _ => return Err(FindError::Incomparable),
            },
            _ => return Err(FindError::Incomparable),
        };
        Ok(match self {
            Self::Equal => order == Ordering::Equal,
            Self::NotEqual => order != Ordering::Equal,
            Self::Less => order == Ordering::Less,
            Self::LessOrEqual => order != Ordering::Greater,
            Self::Greater => order == Ordering::Greater,
            Self::GreaterOrEqual => order != Ordering::Less,
        })
    }
}
