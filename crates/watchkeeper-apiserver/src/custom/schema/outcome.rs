//! Outcomes: the rules that a value breaks, and how many it keeps.
//!
//! If a value matches none of several alternatives, kube-apiserver reports the one with the most passed checks. Checks
//! are therefore counted as kube-apiserver counts them.

use serde_json::Value;
use watchkeeper_core::{CauseType, Quoted, StatusCause};

use super::list::printed;
use crate::validate::faults;

/// A rule of a schema that a value breaks.
#[derive(Debug, Clone)]
pub(super) struct Breach {
    kind: BreachKind,
    /// The path relative to the checked value; empty for the value itself.
    name: String,
    /// The message. Breaches with the same message are reported once.
    message: String,
}

#[derive(Debug, Clone)]
enum BreachKind {
    Required,
    NotSupported {
        value: Value,
        choices: Vec<Value>,
    },
    TooLong {
        limit: i64,
    },
    TooMany {
        count: usize,
        limit: i64,
    },
    Type {
        shown: String,
    },
    Invalid {
        shown: String,
    },
    /// No single field is at fault.
    Nowhere,
}

impl Breach {
    pub(super) fn required(name: String) -> Self {
        let message = format!("{name} in body is required");
        Self { kind: BreachKind::Required, name, message }
    }

    pub(super) fn not_supported(name: &str, value: &Value, choices: &[Value]) -> Self {
        let shown = crate::patch::go_text(&Value::Array(choices.to_vec()));
        let message = format!("{name} in body should be one of {shown}");
        let kind = BreachKind::NotSupported { value: value.clone(), choices: choices.to_vec() };
        Self { kind, name: name.to_owned(), message }
    }

    pub(super) fn too_long(name: &str, limit: i64) -> Self {
        let message = format!("{name} in body should be at most {limit} chars long");
        Self { kind: BreachKind::TooLong { limit }, name: name.to_owned(), message }
    }

    pub(super) fn too_many(name: &str, what: &str, count: usize, limit: i64) -> Self {
        let message = format!("{name} in body should have at most {limit} {what}");
        Self { kind: BreachKind::TooMany { count, limit }, name: name.to_owned(), message }
    }

    /// Creates a breach for a wrong type or format.
    pub(super) fn of_type(name: &str, wanted: &str, found: &str) -> Self {
        let message = format!("{name} in body must be of type {wanted}: {}", Quoted(found));
        Self { kind: BreachKind::Type { shown: Quoted(found).to_string() }, name: name.to_owned(), message }
    }

    pub(super) fn invalid(name: &str, value: &Value, message: String) -> Self {
        Self { kind: BreachKind::Invalid { shown: printed(value) }, name: name.to_owned(), message }
    }

    pub(super) fn nowhere(message: String) -> Self {
        Self { kind: BreachKind::Nowhere, name: String::new(), message }
    }

    /// Converts it to the cause of a 422; `root` is the path of the checked value, `None` if it is the whole object.
    pub(super) fn into_cause(self, root: Option<&str>) -> StatusCause {
        let name = self.name.strip_prefix('.').unwrap_or(&self.name);
        let field = match (root, name, &self.kind) {
            (None, "", _) | (None, _, BreachKind::Nowhere) => "<nil>".to_owned(),
            (Some(root), "", _) | (Some(root), _, BreachKind::Nowhere) => root.to_owned(),
            (None, name, _) => name.to_owned(),
            (Some(root), name, _) => format!("{root}.{name}"),
        };
        let invalid = |shown: &str| format!("Invalid value: {shown}: {}", self.message);
        let (cause, message) = match &self.kind {
            BreachKind::Required => (CauseType::FieldValueRequired, "Required value".to_owned()),
            BreachKind::NotSupported { value, choices } => {
                let choices: Vec<String> = choices.iter().map(choice).collect();
                let (value, choices) = (printed(value), choices.join(", "));
                let message = format!("Unsupported value: {value}: supported values: {choices}");
                (CauseType::FieldValueNotSupported, message)
            }
            BreachKind::TooLong { limit } => {
                let message = match usize::try_from(*limit) {
                    Ok(limit) => faults::too_long(limit),
                    Err(_) => "Too long: value is too long".to_owned(),
                };
                (CauseType::FieldValueTooLong, message)
            }
            BreachKind::TooMany { count, limit } => {
                let message = match usize::try_from(*limit) {
                    Ok(limit) => faults::too_many(*count, limit),
                    Err(_) => format!("Too many: {count}: has too many items"),
                };
                (CauseType::FieldValueTooMany, message)
            }
            BreachKind::Type { shown } => (CauseType::FieldValueTypeInvalid, invalid(shown)),
            BreachKind::Invalid { shown } => (CauseType::FieldValueInvalid, invalid(shown)),
            BreachKind::Nowhere => (CauseType::FieldValueInvalid, invalid("\"\"")),
        };
        StatusCause { cause, field, message }
    }
}

fn choice(value: &Value) -> String {
    match value {
        Value::String(text) => Quoted(text).to_string(),
        value => Quoted(&faults::json(value)).to_string(),
    }
}

/// The maximum number of faults that are reported for one object; each is compared with all others.
pub(super) const MAX_BREACHES: usize = 1000;

/// The result of checking a value.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) breaches: Vec<Breach>,
    /// The number of passed checks, as kube-apiserver counts them.
    pub(super) matches: usize,
}

impl Outcome {
    pub(super) fn is_valid(&self) -> bool {
        self.breaches.is_empty()
    }

    pub(super) fn add(&mut self, breach: Breach) {
        if self.breaches.len() < MAX_BREACHES
            && !self.breaches.iter().any(|known| known.message == breach.message)
        {
            self.breaches.push(breach);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        for breach in other.breaches {
            self.add(breach);
        }
    }
}
