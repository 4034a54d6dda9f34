//! Scalars: merge keys, compared and hashed as in Go.
//!
//! Values of different types are never equal: `80` is not `80.0`. Comparing two objects or two lists makes Go panic;
//! here it is an error.

use serde_json::Value;

use crate::patch::PatchError;
use crate::patch::gofmt::Number;

/// The Go type of a value.
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

/// A comparable value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// Its bits; minus zero is zero.
    Float(u64),
    Text(Box<str>),
    /// Any list; comparing two of them is an error.
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

    /// Converts a value to a key of a Go map: an error for lists and objects.
    pub(super) fn hashed(value: &Value) -> Result<Self, PatchError> {
        match Self::of(value) {
            Self::List | Self::Object => {
                Err(PatchError::Internal("a list or an object cannot be a key".to_owned()))
            }
            scalar => Ok(scalar),
        }
    }

    /// Refuses a list or an object that was found equal to another.
    pub(super) fn comparable(&self) -> Result<(), PatchError> {
        match self {
            Self::List | Self::Object => {
                Err(PatchError::Internal("lists and objects cannot be compared to merge by them".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether two values are equal.
    pub(super) fn equal(left: &Value, right: &Value) -> Result<bool, PatchError> {
        let (left, right) = (Self::of(left), Self::of(right));
        if left != right {
            return Ok(false);
        }
        left.comparable()?;
        Ok(true)
    }
}
