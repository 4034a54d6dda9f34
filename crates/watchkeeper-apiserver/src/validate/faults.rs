//! Faults: what breaks a rule, in the words of the real server and in its order.

use std::fmt::Display;

use serde_json::Value;
use watchkeeper_core::{CauseType, Quoted, StatusCause};

use super::field::Field;

/// The rules that an object breaks, in the order in which the real server tells of them.
#[derive(Default)]
pub(crate) struct Faults {
    found: Vec<StatusCause>,
    /// What the real server finds with rules that were generated. It tells of them after all others.
    declared: Vec<StatusCause>,
    is_declared: bool,
}

impl Faults {
    /// All of them, each once.
    pub(crate) fn into_causes(self) -> Vec<StatusCause> {
        let mut causes: Vec<StatusCause> = Vec::new();
        for cause in self.found.into_iter().chain(self.declared) {
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        causes
    }

    /// More of them, from rules that say where and why themselves.
    pub(crate) fn extend(&mut self, causes: impl IntoIterator<Item = StatusCause>) {
        self.found.extend(causes);
    }

    /// Whether no rule is broken so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.declared.is_empty()
    }

    /// How many rules are broken so far.
    pub(crate) fn len(&self) -> usize {
        self.found.len() + self.declared.len()
    }

    /// Does what is told of last.
    pub(crate) fn declared(&mut self, check: impl FnOnce(&mut Self)) {
        self.is_declared = true;
        check(self);
        self.is_declared = false;
    }

    /// A field that must be there.
    pub(crate) fn required(&mut self, at: &Field<'_>, why: &str) {
        self.add(CauseType::FieldValueRequired, at, said("Required value", why));
    }

    /// A field that must not be there, or not be changed.
    pub(crate) fn forbidden(&mut self, at: &Field<'_>, why: &str) {
        self.add(CauseType::FieldValueForbidden, at, said("Forbidden", why));
    }

    /// A value that breaks a rule.
    pub(crate) fn invalid(&mut self, at: &Field<'_>, why: &str) {
        self.invalid_value(at, shown(at.value()), why);
    }

    /// As [`invalid`](Self::invalid), where what is shown is not what is there.
    pub(crate) fn invalid_value(&mut self, at: &Field<'_>, value: impl Display, why: &str) {
        self.add(CauseType::FieldValueInvalid, at, said(&format!("Invalid value: {value}"), why));
    }

    /// As [`invalid`](Self::invalid), where the value is not shown.
    pub(crate) fn invalid_unshown(&mut self, at: &Field<'_>, why: &str) {
        self.add(CauseType::FieldValueInvalid, at, said("Invalid value", why));
    }

    /// A value that breaks rules on its form: a fault for each.
    pub(crate) fn malformed(&mut self, at: &Field<'_>, faults: Vec<String>) {
        for why in faults {
            self.invalid(at, &why);
        }
    }

    /// A value that is none of those supported.
    pub(crate) fn not_supported(&mut self, at: &Field<'_>, supported: &[&str]) {
        self.not_supported_value(at, json(at.value()), supported);
    }

    /// As [`not_supported`](Self::not_supported), where what is shown is not what is there.
    pub(crate) fn not_supported_value(&mut self, at: &Field<'_>, value: impl Display, supported: &[&str]) {
        let supported: Vec<String> = supported.iter().map(|word| Quoted(word).to_string()).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", supported.join(", "));
        self.add(CauseType::FieldValueNotSupported, at, message);
    }

    /// A word that must be one of these, where it is there at all.
    pub(crate) fn one_of(&mut self, at: &Field<'_>, supported: &[&str]) {
        if !at.is_empty() && !supported.contains(&at.text()) {
            self.not_supported(at, supported);
        }
    }

    /// As [`one_of`](Self::one_of) of a word that may be absent but not empty.
    pub(crate) fn one_of_set(&mut self, at: &Field<'_>, supported: &[&str]) {
        if at.is_set() && !supported.contains(&at.text()) {
            self.not_supported(at, supported);
        }
    }

    /// A value that must be unique.
    pub(crate) fn duplicate(&mut self, at: &Field<'_>) {
        self.duplicate_value(at, shown(at.value()), "");
    }

    /// As [`duplicate`](Self::duplicate), where what is shown is not what is there.
    pub(crate) fn duplicate_value(&mut self, at: &Field<'_>, value: impl Display, why: &str) {
        self.add(CauseType::FieldValueDuplicate, at, said(&format!("Duplicate value: {value}"), why));
    }

    /// A name of something that is not there.
    pub(crate) fn not_found(&mut self, at: &Field<'_>, name: &str, why: &str) {
        self.add(CauseType::FieldValueNotFound, at, said(&format!("Not found: {}", Quoted(name)), why));
    }

    /// A text that has too many bytes.
    pub(crate) fn too_long(&mut self, at: &Field<'_>, bytes: usize) {
        self.add(CauseType::FieldValueTooLong, at, too_long(bytes));
    }

    /// A list that has too many items.
    pub(crate) fn too_many(&mut self, at: &Field<'_>, limit: usize) {
        self.add(CauseType::FieldValueTooMany, at, too_many(at.len(), limit));
    }

    /// A number that must be none below zero.
    pub(crate) fn negative(&mut self, at: &Field<'_>) {
        if at.count() < 0 {
            self.invalid(at, "must be greater than or equal to 0");
        }
    }

    /// A value that must stay as it was.
    pub(crate) fn immutable(&mut self, new: &Field<'_>, old: &Field<'_>) {
        if new.value() != old.value() {
            self.invalid(new, "field is immutable");
        }
    }

    /// As [`immutable`](Self::immutable) of a text, which is empty where it is absent.
    pub(crate) fn immutable_text(&mut self, new: &Field<'_>, old: &Field<'_>) {
        if new.text() != old.text() {
            self.invalid_value(new, Quoted(new.text()), "field is immutable");
        }
    }

    /// As [`immutable`](Self::immutable) of a value that is given by default where it is absent (V2).
    pub(crate) fn immutable_given(&mut self, new: &Field<'_>, old: &Field<'_>) {
        if !new.is_empty() && !old.is_empty() {
            self.immutable(new, old);
        }
    }

    fn add(&mut self, cause: CauseType, at: &Field<'_>, message: String) {
        let fault = StatusCause { cause, field: at.path().to_owned(), message };
        if self.is_declared {
            self.declared.push(fault);
        } else {
            self.found.push(fault);
        }
    }
}

fn said(what: &str, why: &str) -> String {
    match why {
        "" => what.to_owned(),
        why => format!("{what}: {why}"),
    }
}

/// That a text has more than so many bytes.
pub(crate) fn too_long(limit: usize) -> String {
    format!("Too long: may not be more than {limit} byte{}", if limit == 1 { "" } else { "s" })
}

/// That a list has more than so many items.
pub(crate) fn too_many(count: usize, limit: usize) -> String {
    format!("Too many: {count}: must have at most {limit} item{}", if limit == 1 { "" } else { "s" })
}

/// A value as a message shows it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => Quoted(text).to_string(),
        value => json(value),
    }
}

/// A value as Go writes it in JSON.
pub(crate) fn json(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Only texts have these, and Go escapes them for the sake of pages.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_fault_says_what_go_says() {
        let object = json!({"spec": {"ports": [{"name": "<a>"}], "n": -1}});
        let ports = Field::at("spec", &object["spec"]).child("ports");
        let mut faults = Faults::default();
        faults.declared(|faults| faults.required(&ports.index(1), "one more"));
        faults.not_supported(&ports.index(0).child("name"), &["TCP", "UDP"]);
        faults.duplicate(&ports.index(0).child("name"));
        faults.negative(&Field::at("spec", &object["spec"]).child("n"));
        faults.too_many(&ports, 0);
        let said: Vec<String> =
            faults.into_causes().iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let expected = [
            r#"spec.ports[0].name: Unsupported value: "\u003ca\u003e": supported values: "TCP", "UDP""#,
            r#"spec.ports[0].name: Duplicate value: "<a>""#,
            "spec.n: Invalid value: -1: must be greater than or equal to 0",
            "spec.ports: Too many: 1: must have at most 0 items",
            "spec.ports[1]: Required value: one more",
        ];
        assert_eq!(said, expected);
    }
}
