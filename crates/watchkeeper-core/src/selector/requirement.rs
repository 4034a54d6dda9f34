//! Requirements: what one label must be like.

use std::collections::BTreeSet;
use std::fmt;

use crate::excerpt::excerpt;

/// One label key and what is asked of its value.
///
/// ```
/// use watchkeeper_core::{Condition, Requirement};
///
/// let tier = Condition::In(["front".to_owned(), "back".to_owned()].into());
/// assert_eq!(Requirement::new("tier", tier)?.to_string(), "tier in (back,front)");
/// assert!(Requirement::new("not a key", Condition::Exists).is_err());
/// # Ok::<(), watchkeeper_core::RequirementError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: String,
    condition: Condition,
}

/// What a requirement asks of a label's value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Condition {
    /// `key=value`, also written `key==value`.
    Equals(String),
    /// `key!=value`: holds without the label, too.
    NotEquals(String),
    /// `key in (a,b)`.
    In(BTreeSet<String>),
    /// `key notin (a,b)`: holds without the label, too.
    NotIn(BTreeSet<String>),
    /// `key`: the label is there, whatever its value.
    Exists,
    /// `!key`: the label is not there.
    DoesNotExist,
    /// `key>5`: the label is a whole number above this one.
    GreaterThan(i64),
    /// `key<5`: the label is a whole number below this one.
    LessThan(i64),
}

/// Why a requirement cannot be asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequirementError {
    /// No label can have this key.
    #[error("{key:?} is not a label key: {rule}")]
    Key {
        /// The key, shortened if long.
        key: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// No label can have this value.
    #[error("{value:?} is not a value for label {key:?}: {rule}")]
    Value {
        /// The key of the requirement.
        key: String,
        /// The value, shortened if long.
        value: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// A set without members; that of `key in ()` has one, the empty value.
    #[error("label {key:?} is compared with an empty set of values")]
    NoValues {
        /// The key of the requirement.
        key: String,
    },
    /// Whether a label exists has nothing to do with values.
    #[error("label {key:?} is only asked to exist or not to exist, which takes no values")]
    NeedlessValues {
        /// The key of the requirement, shortened if long.
        key: String,
    },
    /// A body may say `In`, `NotIn`, `Exists` and `DoesNotExist`.
    #[error("operator {operator:?} of label {key:?} is not one of In, NotIn, Exists and DoesNotExist")]
    Operator {
        /// The key of the requirement, shortened if long.
        key: String,
        /// The operator, shortened if long.
        operator: String,
    },
}

const NAME_LIMIT: usize = 63;
const PREFIX_LIMIT: usize = 253;

const ONE_SLASH: &str = "it has at most one slash, between a DNS prefix and a name";
const PREFIX_FORM: &str = "its prefix has 1 to 253 characters: lower-case letters, digits, '-' and '.', with a letter or digit around each '.'";
const NAME_LENGTH: &str = "its name has 1 to 63 characters";
const NAME_FORM: &str =
    "its name has only letters, digits, '-', '_' and '.', and begins and ends with a letter or digit";
const VALUE_LENGTH: &str = "it has at most 63 characters";
const VALUE_FORM: &str =
    "it has only letters, digits, '-', '_' and '.', and begins and ends with a letter or digit";
const BOUND_FORM: &str = "it is a whole number from 0 to 9223372036854775807";

impl Requirement {
    /// Puts the two together.
    ///
    /// # Errors
    /// Where a label cannot have such a key or value, where a set is empty, and where a bound is
    /// negative, for which the text form has no sign.
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

    /// Which label.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is asked of it.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// The only value that fulfils this, if there is just one.
    pub fn exact_value(&self) -> Option<&str> {
        match &self.condition {
            Condition::Equals(value) => Some(value),
            Condition::In(values) if values.len() == 1 => values.first().map(String::as_str),
            _ => None,
        }
    }

    /// Whether a label with this value fulfils it; `None` for an object without the label.
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

/// Prints the canonical text: the members of a set are sorted.
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

/// Reads the operand of `>` or `<`, which has to be a label value as well as a number.
pub(super) fn read_bound(key: &str, text: &str) -> Result<i64, RequirementError> {
    check_value(key, text)?;
    let out_of_form =
        || RequirementError::Value { key: key.to_owned(), value: text.to_owned(), rule: BOUND_FORM };
    text.parse().map_err(|_| out_of_form())
}

/// Letters and digits at both ends, and besides them only `-`, `_` and `.`. Not of the empty text.
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
