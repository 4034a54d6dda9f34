//! Requirements of label selectors.

use std::collections::BTreeSet;
use std::fmt;

use crate::excerpt::excerpt;

/// A requirement on one label.
///
/// ```
/// use watchkeeper_core::{Condition, Requirement};
///
/// let tier = Condition::In(["front".to_owned(), "back".to_owned()].into());
/// assert_eq!(Requirement::new("tier", tier)?.to_string(), "tier in (back,front)");
/// assert!(Requirement::new("not a key", Condition::Exists).is_err());
/// # Ok::<(), watchkeeper_core::RequirementError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    key: String,
    condition: Condition,
}

/// The condition that a label must meet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// `key=value`, also written `key==value`.
    Equals(String),
    /// `key!=value`: also matches objects without the label.
    NotEquals(String),
    /// `key in (a,b)`.
    In(BTreeSet<String>),
    /// `key notin (a,b)`: also matches objects without the label.
    NotIn(BTreeSet<String>),
    /// `key`: the label is present, with any value.
    Exists,
    /// `!key`: the label is absent.
    DoesNotExist,
    /// `key>5`: the label is an integer greater than this one.
    GreaterThan(i64),
    /// `key<5`: the label is an integer less than this one.
    LessThan(i64),
}

/// An invalid requirement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequirementError {
    /// The key is not a valid label key.
    #[error("invalid label key {key:?}: {rule}")]
    Key {
        /// The key, shortened if long.
        key: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The value is not a valid label value.
    #[error("invalid value {value:?} for label {key:?}: {rule}")]
    Value {
        /// The key of the requirement.
        key: String,
        /// The value, shortened if long.
        value: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The set of values is empty. `key in ()` has one value, the empty one.
    #[error("no values for label {key:?}: operators In and NotIn require at least one")]
    NoValues {
        /// The key of the requirement.
        key: String,
    },
    /// `Exists` and `DoesNotExist` take no values.
    #[error("unexpected values for label {key:?}: operators Exists and DoesNotExist take none")]
    NeedlessValues {
        /// The key of the requirement, shortened if long.
        key: String,
    },
    /// The operator is not `In`, `NotIn`, `Exists` or `DoesNotExist`.
    #[error("invalid operator {operator:?} for label {key:?}: expected In, NotIn, Exists or DoesNotExist")]
    Operator {
        /// The key of the requirement, shortened if long.
        key: String,
        /// The operator, shortened if long.
        operator: String,
    },
}

const NAME_LIMIT: usize = 63;
const PREFIX_LIMIT: usize = 253;

const ONE_SLASH: &str = "must have at most one slash, between a DNS prefix and a name";
const PREFIX_FORM: &str = "prefix must be a DNS subdomain of at most 253 characters";
const NAME_LENGTH: &str = "name must have 1 to 63 characters";
const NAME_FORM: &str =
    "name must consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit";
const VALUE_LENGTH: &str = "must have at most 63 characters";
const VALUE_FORM: &str =
    "must consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit";
const BOUND_FORM: &str = "must be an integer from 0 to 9223372036854775807";

impl Requirement {
    /// Creates a requirement.
    ///
    /// # Errors
    /// If the key or a value is invalid, a set is empty, or a bound is negative, which the text form
    /// cannot express.
    pub fn new(key: impl Into<String>, condition: Condition) -> Result<Self, RequirementError> {
        let key = key.into();
        check_key(&key)?;
        match &condition {
            Condition::Equals(value) | Condition::NotEquals(value) => check_value(&key, value)?,
            Condition::In(values) | Condition::NotIn(values) => {
                if values.is_empty() {
                    return Err(RequirementError::NoValues { key });
                }
                values.iter().try_for_each(|value| check_value(&key, value))?;
            }
            Condition::GreaterThan(bound) | Condition::LessThan(bound) => {
                if *bound < 0 {
                    return Err(RequirementError::Value { key, value: bound.to_string(), rule: BOUND_FORM });
                }
            }
            Condition::Exists | Condition::DoesNotExist => {}
        }
        Ok(Self { key, condition })
    }

    /// Returns the label's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the condition.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Returns the only value that matches, if there is exactly one.
    pub fn exact_value(&self) -> Option<&str> {
        match &self.condition {
            Condition::Equals(value) => Some(value),
            Condition::In(values) if values.len() == 1 => values.first().map(String::as_str),
            _ => None,
        }
    }

    /// Returns whether a label with this value matches; `None` for an absent label.
    pub fn matches(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.condition {
            Condition::Equals(wanted) => value == Some(wanted),
            Condition::NotEquals(unwanted) => value != Some(unwanted),
            Condition::In(wanted) => value.is_some_and(|value| wanted.contains(value)),
            Condition::NotIn(unwanted) => value.is_none_or(|value| !unwanted.contains(value)),
            Condition::Exists => value.is_some(),
            Condition::DoesNotExist => value.is_none(),
            Condition::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            Condition::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// Displays the canonical text form, with sorted sets.
impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.condition {
            Condition::Equals(value) => write!(f, "{key}={value}"),
            Condition::NotEquals(value) => write!(f, "{key}!={value}"),
            Condition::In(values) => write_set(f, key, "in", values),
            Condition::NotIn(values) => write_set(f, key, "notin", values),
            Condition::Exists => f.write_str(key),
            Condition::DoesNotExist => write!(f, "!{key}"),
            Condition::GreaterThan(bound) => write!(f, "{key}>{bound}"),
            Condition::LessThan(bound) => write!(f, "{key}<{bound}"),
        }
    }
}

fn write_set(
    f: &mut fmt::Formatter<'_>,
    key: &str,
    operator: &str,
    values: &BTreeSet<String>,
) -> fmt::Result {
    write!(f, "{key} {operator} (")?;
    for (index, value) in values.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        write!(f, "{comma}{value}")?;
    }
    f.write_str(")")
}

pub(super) fn check_key(key: &str) -> Result<(), RequirementError> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let rule = if name.contains('/') {
        ONE_SLASH
    } else if prefix.is_some_and(|prefix| !is_subdomain(prefix)) {
        PREFIX_FORM
    } else if name.is_empty() || name.len() > NAME_LIMIT {
        NAME_LENGTH
    } else if !is_name(name) {
        NAME_FORM
    } else {
        return Ok(());
    };
    Err(RequirementError::Key { key: excerpt(key), rule })
}

pub(super) fn check_value(key: &str, value: &str) -> Result<(), RequirementError> {
    let rule = if value.len() > NAME_LIMIT {
        VALUE_LENGTH
    } else if !value.is_empty() && !is_name(value) {
        VALUE_FORM
    } else {
        return Ok(());
    };
    Err(RequirementError::Value { key: key.to_owned(), value: excerpt(value), rule })
}

/// Parses the operand of `>` or `<`, which must be a valid label value and an integer.
pub(super) fn read_bound(key: &str, text: &str) -> Result<i64, RequirementError> {
    check_value(key, text)?;
    let invalid =
        || RequirementError::Value { key: key.to_owned(), value: text.to_owned(), rule: BOUND_FORM };
    text.parse().map_err(|_| invalid())
}

/// Returns whether `text` is non-empty, starts and ends with a letter or digit, and otherwise also has `-`, `_` and `.`.
fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= PREFIX_LIMIT
        && text
            .split('.')
            .all(|part| is_name(part) && !part.bytes().any(|b| b == b'_' || b.is_ascii_uppercase()))
}
