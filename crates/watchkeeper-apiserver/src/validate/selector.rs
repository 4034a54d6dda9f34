//! Selectors and labels.

use serde_json::Value;
use watchkeeper_core::{LabelSelector, Quoted, StructuredSelector};

use super::faults::{Faults, json};
use super::field::Field;
use super::metadata::ordered;
use super::syntax::{label_value, qualified_name};

/// Checks a map of labels.
pub(crate) fn labels(field: &Field<'_>, faults: &mut Faults) {
    for (key, value) in field.entries() {
        for why in qualified_name(key) {
            faults.invalid_value(field, Quoted(key), &why);
        }
        for why in label_value(value.text()) {
            faults.invalid_value(field, Quoted(value.text()), &why);
        }
    }
}

/// Checks a label selector.
pub(crate) fn selector(field: &Field<'_>, faults: &mut Faults) {
    labels(&field.child("matchLabels"), faults);
    for expression in field.child("matchExpressions").items() {
        requirement(&expression, faults);
    }
}

fn requirement(field: &Field<'_>, faults: &mut Faults) {
    let (operator, values) = (field.child("operator"), field.child("values"));
    match operator.text() {
        "In" | "NotIn" => {
            if values.is_empty() {
                faults.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                faults.forbidden(&values, why);
            }
        }
        _ => faults.invalid_value(&operator, json_text(operator.text()), "not a valid selector operator"),
    }
    let key = field.child("key");
    for why in qualified_name(key.text()) {
        faults.invalid_value(&key, Quoted(key.text()), &why);
    }
    for value in values.items() {
        faults.malformed(&value, label_value(value.text()));
    }
}

/// Parses a label selector; `None` if it is malformed.
pub(crate) fn parsed(field: &Field<'_>) -> Option<LabelSelector> {
    let structured: StructuredSelector = serde_json::from_value(field.value().clone()).ok()?;
    LabelSelector::try_from(&structured).ok()
}

/// Returns whether a selector matches labels; an absent one matches nothing. `None` if it is malformed.
pub(crate) fn selects(field: &Field<'_>, labels: &Value) -> Option<bool> {
    if !field.is_set() {
        return Some(false);
    }
    Some(parsed(field)?.matches(|key| labels.get(key).and_then(Value::as_str)))
}

/// Returns whether a selector is present and empty.
pub(crate) fn is_without_content(field: &Field<'_>) -> bool {
    field.is_set() && field.child("matchLabels").is_empty() && field.child("matchExpressions").is_empty()
}

/// Formats a selector as Go's JSON.
pub(crate) fn shown(field: &Field<'_>) -> String {
    match field.value() {
        Value::Null => "null".to_owned(),
        value => ordered(value, &["matchLabels", "matchExpressions"]),
    }
}

/// Formats a string as JSON: kube-apiserver does so for defined string types, and uses Go's quoting for plain strings.
pub(crate) fn json_text(text: &str) -> String {
    json(&Value::String(text.to_owned()))
}
