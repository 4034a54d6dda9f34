//! Field selectors.

use std::fmt;
use std::str::FromStr;

use super::SelectorError;
use crate::excerpt::excerpt;

/// A field selector: a set of requirements on an object's fields.
///
/// The text form is a comma-separated list of `field=value`, `field==value` and `field!=value`. In a
/// value, `\`, `,` and `=` are escaped with a backslash. Whitespace is part of the field or the value.
/// The server decides which fields it supports; parsing does not check them.
///
/// ```
/// use watchkeeper_core::FieldSelector;
///
/// let selector: FieldSelector = "status.phase!=Failed,spec.nodeName==node-1".parse()?;
/// assert_eq!(selector.to_string(), "spec.nodeName=node-1,status.phase!=Failed");
/// assert_eq!(selector.exact_value("spec.nodeName"), Some("node-1"));
/// assert!(selector.matches(|field| (field == "spec.nodeName").then_some("node-1")));
/// # Ok::<(), watchkeeper_core::SelectorError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FieldSelector {
    /// Sorted by text.
    requirements: Vec<FieldRequirement>,
}

/// A requirement on one field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldRequirement {
    field: String,
    operator: FieldOperator,
    value: String,
}

/// The operator of a field requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldOperator {
    /// `=`, also written `==`.
    Equals,
    /// `!=`.
    NotEquals,
}

/// An invalid field name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid field name {field:?}: must not be empty or contain any of ! = , \\")]
pub struct FieldNameError {
    /// The name, shortened if long.
    pub field: String,
}

impl FieldRequirement {
    /// Creates a requirement. The value can be any text.
    ///
    /// # Errors
    /// If the field name is empty or contains one of `!`, `=`, `,` and `\`.
    pub fn new(
        field: impl Into<String>,
        operator: FieldOperator,
        value: impl Into<String>,
    ) -> Result<Self, FieldNameError> {
        let field = field.into();
        if field.is_empty() || field.contains(['!', '=', ',', '\\']) {
            return Err(FieldNameError { field: excerpt(&field) });
        }
        Ok(Self { field, operator, value: value.into() })
    }

    /// Returns the field: `spec.nodeName`.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns the operator.
    pub fn operator(&self) -> FieldOperator {
        self.operator
    }

    /// Returns the value to compare with.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns whether a field with this value matches. An absent field is equal to an empty one.
    pub fn matches(&self, value: Option<&str>) -> bool {
        let equal = value.unwrap_or_default() == self.value;
        equal == (self.operator == FieldOperator::Equals)
    }
}

impl FieldSelector {
    /// The selector without requirements, which matches every object.
    pub const EVERYTHING: Self = Self { requirements: Vec::new() };

    /// Returns the selector without requirements, which matches every object.
    pub fn everything() -> Self {
        Self::EVERYTHING
    }

    /// Parses a selector.
    ///
    /// # Errors
    /// If the syntax is invalid; the error has the position in `text`.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut requirements = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let term = &text[at..end_of_term(text, at)];
            if !term.is_empty() {
                requirements.push(parse_term(term, at)?);
            }
            at += term.len() + 1;
        }
        // As in Go, a term with an empty field and an empty value (`=`) is ignored.
        requirements.retain(|it| !(it.field.is_empty() && it.value.is_empty()));
        Ok(requirements.into_iter().collect())
    }

    /// Returns whether the selector matches an object. `field` looks up the value of a field.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(field(&requirement.field))) // selector.L2
    }

    /// Returns whether the selector has no requirements.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns the requirements, sorted by text.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// Returns the value of an `=` requirement on the field, if there is one; no other value can match. Use it
    /// for an index lookup, and call [`matches`](Self::matches) on the objects found.
    pub fn exact_value(&self, field: &str) -> Option<&str> {
        let equals = |it: &&FieldRequirement| it.field == field && it.operator == FieldOperator::Equals;
        self.requirements.iter().find(equals).map(FieldRequirement::value)
    }
}

/// Returns the position of the next unescaped comma, or the end of the text.
fn end_of_term(text: &str, start: usize) -> usize {
    let mut escaped = false;
    for (offset, byte) in text[start..].bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => return start + offset,
            _ => {}
        }
    }
    text.len()
}

fn parse_term(term: &str, at: usize) -> Result<FieldRequirement, SelectorError> {
    let expected = "a field and one of =, == and !=";
    let Some((left, right)) = term.split_once('=') else {
        return Err(SelectorError::unexpected(at, term, expected));
    };
    let (field, operator, raw) = match (left.strip_suffix('!'), right.strip_prefix('=')) {
        (Some(field), _) => (field, FieldOperator::NotEquals, right),
        (None, Some(raw)) => (left, FieldOperator::Equals, raw),
        (None, None) => (left, FieldOperator::Equals, right),
    };
    let value = unescape(raw, at + term.len() - raw.len())?;
    Ok(FieldRequirement { field: field.to_owned(), operator, value })
}

fn unescape(raw: &str, at: usize) -> Result<String, SelectorError> {
    let mut value = String::with_capacity(raw.len());
    let mut rest = raw.char_indices();
    while let Some((offset, c)) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some((_, escaped @ ('\\' | ',' | '='))) => value.push(escaped),
                other => {
                    let length = 1 + other.map_or(0, |(_, c)| c.len_utf8());
                    let found = &raw[offset..offset + length];
                    return Err(SelectorError::unexpected(at + offset, found, r"one of \\, \, and \="));
                }
            },
            '=' => return Err(SelectorError::unexpected(at + offset, "=", r"\= in a value")),
            c => value.push(c),
        }
    }
    Ok(value)
}

impl FromIterator<FieldRequirement> for FieldSelector {
    fn from_iter<I: IntoIterator<Item = FieldRequirement>>(requirements: I) -> Self {
        let mut requirements = Vec::from_iter(requirements);
        requirements.sort_by_cached_key(FieldRequirement::to_string);
        Self { requirements }
    }
}

impl FromStr for FieldSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}

/// Displays the term with its value escaped.
impl fmt::Display for FieldRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.field)?;
        f.write_str(match self.operator {
            FieldOperator::Equals => "=",
            FieldOperator::NotEquals => "!=",
        })?;
        for part in self.value.split_inclusive(['\\', ',', '=']) {
            match part.strip_suffix(['\\', ',', '=']) {
                Some(plain) => write!(f, "{plain}\\{}", &part[plain.len()..])?,
                None => f.write_str(part)?,
            }
        }
        Ok(())
    }
}

/// Displays the canonical text form, as sent in requests.
impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}
