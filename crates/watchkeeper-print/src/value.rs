//! Accessors for the values at a path of an object. Absent values and values of another type are Go's zero
//! value (`print.P1`).

use serde_json::Value;
use watchkeeper_core::{LabelSelector, StructuredSelector, Timestamp};
use watchkeeper_wire::json_path::at;
use watchkeeper_wire::quantity;

/// Returns the string at a path.
pub(crate) fn text<'a>(object: &'a Value, path: &str) -> Option<&'a str> {
    at(object, path)?.as_str()
}

/// Returns the string at a path, or an empty one.
pub(crate) fn text_or_empty<'a>(object: &'a Value, path: &str) -> &'a str {
    text(object, path).unwrap_or_default()
}

/// Returns the integer at a path, or 0.
pub(crate) fn int(object: &Value, path: &str) -> i64 {
    at(object, path).and_then(Value::as_i64).unwrap_or_default()
}

/// Returns the number or string at a path, as text.
pub(crate) fn number(object: &Value, path: &str) -> Option<String> {
    match at(object, path)? {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// Returns the list at a path, or an empty one.
pub(crate) fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    at(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the length of the list or object at a path.
pub(crate) fn count(object: &Value, path: &str) -> usize {
    match at(object, path) {
        Some(Value::Array(items)) => items.len(),
        Some(Value::Object(entries)) => entries.len(),
        _ => 0,
    }
}

/// Parses a timestamp; `None` for Go's zero time.
pub(crate) fn timestamp(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok().filter(|time| *time != Timestamp::GO_ZERO)
}

/// Returns `text`, or a placeholder if it is empty.
pub(crate) fn or_placeholder(text: String, placeholder: &str) -> String {
    if text.is_empty() { placeholder.to_owned() } else { text }
}

/// Formats labels as `a=b,c=d`, or `<none>`.
pub(crate) fn labels(value: Option<&Value>) -> String {
    let mut labels: Vec<String> = value
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    labels.sort();
    or_placeholder(labels.join(","), "<none>")
}

/// Formats a label selector; `None` if it is invalid. An absent one is empty.
pub(crate) fn selector(value: Option<&Value>) -> Option<String> {
    let Some(value) = value else { return Some(String::new()) };
    let structured: StructuredSelector = serde_json::from_value(value.clone()).ok()?;
    Some(LabelSelector::try_from(&structured).ok()?.to_string())
}

/// Formats a quantity as Go does; `0` if absent.
pub(crate) fn amount(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => quantity::canonical(text).map_or_else(|| text.clone(), Into::into),
        Some(Value::Number(number)) => {
            let text = number.to_string();
            quantity::canonical(&text).map_or_else(|| text.clone(), Into::into)
        }
        _ => "0".to_owned(),
    }
}

/// Formats access modes by their short names, in a fixed order.
pub(crate) fn modes(modes: &[Value]) -> String {
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |name: &str| modes.iter().any(|mode| mode.as_str() == Some(name));
    let short: Vec<&str> = known.iter().filter(|(name, _)| has(name)).map(|(_, short)| *short).collect();
    short.join(",")
}
