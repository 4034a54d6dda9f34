//! Faults: broken rules, with kube-apiserver's messages and in its order.

use std::fmt::Display;

use serde_json::Value;
use watchkeeper_core::{CauseType, Quoted, StatusCause};

use super::field::Field;

/// The rules that an object breaks, in kube-apiserver's order.
#[derive(Default)]
pub(crate) struct Faults {
    found: Vec<StatusCause>,
    /// Faults that kube-apiserver finds by generated (declarative) validation, and lists last.
    declared: Vec<StatusCause>,
    is_declared: bool,
}

impl Faults {
    /// Returns all faults without duplicates.
    pub(crate) fn into_causes(self) -> Vec<StatusCause> {
        let mut causes: Vec<StatusCause> = Vec::new();
        for cause in self.found.into_iter().chain(self.declared) {
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        causes
    }

    /// Adds causes.
    pub(crate) fn extend(&mut self, causes: impl IntoIterator<Item = StatusCause>) {
        self.found.extend(causes);
    }

    /// Returns whether no rule is broken so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.declared.is_empty()
    }

    /// Returns the number of broken rules so far.
    pub(crate) fn len(&self) -> usize {
        self.found.len() + self.declared.len()
    }

    /// Runs a check whose faults are listed last.
    pub(crate) fn declared(&mut self, check: impl FnOnce(&mut Self)) {
        self.is_declared = true;
        check(self);
        self.is_declared = false;
    }

    /// Adds a fault: the field is required.
    pub(crate) fn required(&mut self, at: &Field<'_>, why: &str) {
        self.add(CauseType::FieldValueRequired, at, message("Required value", why));
    }

    /// Adds a fault: the field must not be set or changed.
    pub(crate) fn forbidden(&mut self, at: &Field<'_>, why: &str) {
        self.add(CauseType::FieldValueForbidden, at, message("Forbidden", why));
    }

    /// Adds a fault: the value is invalid.
    pub(crate) fn invalid(&mut self, at: &Field<'_>, why: &str) {
        self.invalid_value(at, shown(at.value()), why);
    }

    /// Like [`invalid`](Self::invalid), but shows another value.
    pub(crate) fn invalid_value(&mut self, at: &Field<'_>, value: impl Display, why: &str) {
        self.add(CauseType::FieldValueInvalid, at, message(&format!("Invalid value: {value}"), why));
    }

    /// Like [`invalid`](Self::invalid), but does not show the value.
    pub(crate) fn invalid_unshown(&mut self, at: &Field<'_>, why: &str) {
        self.add(CauseType::FieldValueInvalid, at, message("Invalid value", why));
    }

    /// Adds a fault for each broken syntax rule.
    pub(crate) fn malformed(&mut self, at: &Field<'_>, faults: Vec<String>) {
        for why in faults {
            self.invalid(at, &why);
        }
    }

    /// Adds a fault: the value is not supported.
    pub(crate) fn not_supported(&mut self, at: &Field<'_>, supported: &[&str]) {
        self.not_supported_value(at, json(at.value()), supported);
    }

    /// Like [`not_supported`](Self::not_supported), but shows another value.
    pub(crate) fn not_supported_value(&mut self, at: &Field<'_>, value: impl Display, supported: &[&str]) {
        let supported: Vec<String> = supported.iter().map(|word| Quoted(word).to_string()).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", supported.join(", "));
        self.add(CauseType::FieldValueNotSupported, at, message);
    }

    /// Checks that a value is one of these, if it is set and not empty.
    pub(crate) fn one_of(&mut self, at: &Field<'_>, supported: &[&str]) {
        if !at.is_empty() && !supported.contains(&at.text()) {
            self.not_supported(at, supported);
        }
    }

    /// Checks that a value is one of these, if it is set.
    pub(crate) fn one_of_set(&mut self, at: &Field<'_>, supported: &[&str]) {
        if at.is_set() && !supported.contains(&at.text()) {
            self.not_supported(at, supported);
        }
    }

    /// Adds a fault: the value is a duplicate.
    pub(crate) fn duplicate(&mut self, at: &Field<'_>) {
        self.duplicate_value(at, shown(at.value()), "");
    }

    /// Like [`duplicate`](Self::duplicate), but shows another value.
    pub(crate) fn duplicate_value(&mut self, at: &Field<'_>, value: impl Display, why: &str) {
        self.add(CauseType::FieldValueDuplicate, at, message(&format!("Duplicate value: {value}"), why));
    }

    /// Adds a fault: the name does not exist.
    pub(crate) fn not_found(&mut self, at: &Field<'_>, name: &str, why: &str) {
        self.add(CauseType::FieldValueNotFound, at, message(&format!("Not found: {}", Quoted(name)), why));
    }

    /// Adds a fault: the value is too long.
    pub(crate) fn too_long(&mut self, at: &Field<'_>, bytes: usize) {
        self.add(CauseType::FieldValueTooLong, at, too_long(bytes));
    }

    /// Adds a fault: the list has too many items.
    pub(crate) fn too_many(&mut self, at: &Field<'_>, limit: usize) {
        self.add(CauseType::FieldValueTooMany, at, too_many(at.len(), limit));
    }

    /// Checks that a number is not negative.
    pub(crate) fn negative(&mut self, at: &Field<'_>) {
        if at.count() < 0 {
            self.invalid(at, "must be greater than or equal to 0");
        }
    }

    /// Checks that a value is unchanged.
    pub(crate) fn immutable(&mut self, new: &Field<'_>, old: &Field<'_>) {
        if new.value() != old.value() {
            self.invalid(new, "field is immutable");
        }
    }

    /// Like [`immutable`](Self::immutable), for a string: absent equals empty.
    pub(crate) fn immutable_text(&mut self, new: &Field<'_>, old: &Field<'_>) {
        if new.text() != old.text() {
            self.invalid_value(new, Quoted(new.text()), "field is immutable");
        }
    }

    /// Like [`immutable`](Self::immutable), for a value with a default: absent equals anything (`validate.V2`).
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

fn message(what: &str, why: &str) -> String {
    match why {
        "" => what.to_owned(),
        why => format!("{what}: {why}"),
    }
}

/// Returns the message for a string longer than `limit` bytes.
pub(crate) fn too_long(limit: usize) -> String {
    format!("Too long: may not be more than {limit} byte{}", if limit == 1 { "" } else { "s" })
}

/// Returns the message for a list with more than `limit` items.
pub(crate) fn too_many(count: usize, limit: usize) -> String {
    format!("Too many: {count}: must have at most {limit} item{}", if limit == 1 { "" } else { "s" })
}

/// Formats a value for a message.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => Quoted(text).to_string(),
        value => json(value),
    }
}

/// Formats a value as Go's JSON.
pub(crate) fn json(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Only strings contain these, and Go escapes them for HTML.
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
    fn faults_have_gos_messages() {
        let object = json!({"spec": {"ports": [{"name": "<a>"}], "n": -1}});
        let ports = Field::at("spec", &object["spec"]).child("ports");
        let mut faults = Faults::default();
        faults.declared(|faults| faults.required(&ports.index(1), "one more"));
        faults.not_supported(&ports.index(0).child("name"), &["TCP", "UDP"]);
        faults.duplicate(&ports.index(0).child("name"));
        faults.negative(&Field::at("spec", &object["spec"]).child("n"));
        faults.too_many(&ports, 0);
        let messages: Vec<String> =
            faults.into_causes().iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let expected = [
            r#"spec.ports[0].name: Unsupported value: "\u003ca\u003e": supported values: "TCP", "UDP""#,
            r#"spec.ports[0].name: Duplicate value: "<a>""#,
            "spec.n: Invalid value: -1: must be greater than or equal to 0",
            "spec.ports: Too many: 1: must have at most 0 items",
            "spec.ports[1]: Required value: one more",
        ];
        assert_eq!(messages, expected);
    }
}
