//! Field selectors.

use std::fmt;
use std::str::FromStr;

use super::SelectorError;
use crate::excerpt::excerpt;

/// What an object's fields must be like to be selected.
///
/// Terms `field=value`, `field==value` or `field!=value`, separated by commas. In a value, `\`, `,`
/// and `=` are written with a backslash before them. Blanks are not free: they belong to the field
/// or to the value. Which fields there are is up to the server, and is not asked here.
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
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct FieldSelector {
    /// Ordered by their text.
    requirements: Vec<FieldRequirement>,
}

/// One field and what its value must or must not be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldRequirement {
    field: String,
    operator: FieldOperator,
    value: String,
}

/// How a field is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldOperator {
    /// `=`, also written `==`.
    Equals,
    /// `!=`.
    NotEquals,
}

/// Why a text cannot name a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field:?} cannot name a field: a name is not empty and has none of ! = , \\")]
pub struct FieldNameError {
    /// The name, shortened if long.
    pub field: String,
}

impl FieldRequirement {
    /// Puts the three together; the value can be any text.
    ///
    /// # Errors
    /// Where the name is empty, or has a character that separates names from values.
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

    /// Which field: `spec.nodeName`.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// How it is compared.
    pub fn operator(&self) -> FieldOperator {
        self.operator
    }

    /// What it is compared with.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether a field with this value fulfils it. A field that is absent is as good as empty.
    pub fn matches(&self, value: Option<&str>) -> bool {
        let equal = value.unwrap_or_default() == self.value;
        equal == (self.operator == FieldOperator::Equals)
    }
}

impl FieldSelector {
    /// The selector without requirements, which selects everything.
    pub const EVERYTHING: Self = Self { requirements: Vec::new() };

    /// Reads a selector from its text.
    ///
    /// # Errors
    /// Names the first place where the text leaves the grammar.
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
        // As in Go, a term that names nothing and wants nothing (`=`) is left out.
        requirements.retain(|it| !(it.field.is_empty() && it.value.is_empty()));
        Ok(requirements.into_iter().collect())
    }

    /// Whether an object is selected whose fields are found by `field`.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(field(&requirement.field))) // L2
    }

    /// Whether there are no requirements.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The requirements, ordered by their text. A server goes through them to refuse fields that it
    /// does not know.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// The value that the field must have, where only one will do: what to look up in an index over
    /// that field. All that is found there still has to be matched.
    pub fn exact_value(&self, field: &str) -> Option<&str> {
        let equals = |it: &&FieldRequirement| it.field == field && it.operator == FieldOperator::Equals;
        self.requirements.iter().find(equals).map(FieldRequirement::value)
    }
}

/// The place of the next comma that no backslash protects, or the end.
fn end_of_term(text: &str, start: usize) -> usize {
    let mut protected = false;
    for (offset, byte) in text[start..].bytes().enumerate() {
        match byte {
            _ if protected => protected = false,
            b'\\' => protected = true,
            b',' => return start + offset,
            _ => {}
        }
    }
    text.len()
}

fn parse_term(term: &str, at: usize) -> Result<FieldRequirement, SelectorError> {
    let expected = "a field and then one of =, == and !=";
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

/// Prints the term with its value escaped.
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

/// Prints the canonical text, which is what a request carries.
impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}
