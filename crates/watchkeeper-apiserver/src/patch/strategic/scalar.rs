//! Scalars: the values that a list is merged by, compared and hashed as Go does.
//!
//! A whole number is never equal to a fraction, `80` is not `80.0`, and nothing is equal to a value of another
//! type. Objects and lists cannot be compared with their like: Go panics, and we refuse.

use serde_json::Value;

use crate::patch::PatchError;
use crate::patch::gofmt::Number;

/// The type that Go gives a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Int,
    Float,
    Text,
    List,
    Object,
}

impl Kind {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Number(number) => match Number::of(number) {
                Number::Int(_) => Self::Int,
                Number::Float(_) => Self::Float,
            },
            Value::String(_) => Self::Text,
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Object,
        }
    }
}

/// A value to compare by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// Its bits; minus zero is zero.
    Float(u64),
    Text(Box<str>),
    /// Any list: equal here, and refused where two of them meet.
    List,
    /// Any object; see `List`.
    Object,
}

impl Scalar {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => match Number::of(number) {
                Number::Int(value) => Self::Int(value),
                Number::Float(value) => Self::Float((value + 0.0).to_bits()),
            },
            Value::String(text) => Self::text(text),
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Object,
        }
    }

    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// As the key of a Go map, which no list or object can be.
    pub(super) fn hashed(value: &Value) -> Result<Self, PatchError> {
        match Self::of(value) {
            Self::List | Self::Object => {
                Err(PatchError::Internal("a list or an object cannot be a key".to_owned()))
            }
            scalar => Ok(scalar),
        }
    }

    /// Refuses a value that was just found to be equal to another.
    pub(super) fn comparable(&self) -> Result<(), PatchError> {
        match self {
            Self::List | Self::Object => {
                Err(PatchError::Internal("lists and objects cannot be compared to merge by them".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Whether two values are equal.
    pub(super) fn equal(left: &Value, right: &Value) -> Result<bool, PatchError> {
        let (left, right) = (Self::of(left), Self::of(right));
        if left != right {
            return Ok(false);
        }
        left.comparable()?;
        Ok(true)
    }
}
