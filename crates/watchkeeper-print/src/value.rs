//! Values: what stands at a path of an object, as the cells want it. What is missing or of another type
//! is the zero value that Go would have read (P1).

use serde_json::Value;
use watchkeeper_core::{LabelSelector, StructuredSelector, Timestamp};
use watchkeeper_wire::json_path::at;
use watchkeeper_wire::quantity;

/// The text at a path.
pub(crate) fn text<'a>(object: &'a Value, path: &str) -> Option<&'a str> {
    at(object, path)?.as_str()
}

/// The text at a path, or an empty one.
pub(crate) fn text_or_empty<'a>(object: &'a Value, path: &str) -> &'a str {
    text(object, path).unwrap_or_default()
}

/// The number at a path; 0 where there is none.
pub(crate) fn int(object: &Value, path: &str) -> i64 {
    at(object, path).and_then(Value::as_i64).unwrap_or_default()
}

/// The number or text at a path, as text.
pub(crate) fn number(object: &Value, path: &str) -> Option<String> {
    match at(object, path)? {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// The list at a path; empty where there is none.
pub(crate) fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    at(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// How many items or entries stand at a path.
pub(crate) fn count(object: &Value, path: &str) -> usize {
    match at(object, path) {
        Some(Value::Array(items)) => items.len(),
        Some(Value::Object(entries)) => entries.len(),
        _ => 0,
    }
}

/// A moment, unless it is Go's zero.
pub(crate) fn moment(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok().filter(|moment| *moment != Timestamp::GO_ZERO)
}

/// A text, or a placeholder where it is empty.
pub(crate) fn filled(text: String, or: &str) -> String {
    if text.is_empty() { or.to_owned() } else { text }
}

/// `a=b,c=d`, or `<none>`.
pub(crate) fn labels(value: Option<&Value>) -> String {
    let mut labels: Vec<String> = value
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    labels.sort();
    filled(labels.join(","), "<none>")
}

/// A label selector as text, or `None` where it is none. Nothing at all selects nothing, and prints
/// as nothing.
pub(crate) fn selector(value: Option<&Value>) -> Option<String> {
    let Some(value) = value else { return Some(String::new()) };
    let structured: StructuredSelector = serde_json::from_value(value.clone()).ok()?;
    Some(LabelSelector::try_from(&structured).ok()?.to_string())
}

/// An amount as Go writes it; `0` where there is none.
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

/// The access modes by their short names, in a fixed order.
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
