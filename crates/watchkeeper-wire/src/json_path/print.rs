//! Formatting of values.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde_json::Value;

use super::Part;
use super::find::{FindError, find};
use super::number::Number;

pub(super) fn render(parts: &[Part], value: &Value, text: &mut String) -> Result<(), FindError> {
    for part in parts {
        match part {
            Part::Text(part) => text.push_str(part),
            Part::Values(steps) => {
                for (position, value) in find(steps, vec![Cow::Borrowed(value)])?.iter().enumerate() {
                    if position > 0 {
                        text.push(' ');
                    }
                    plain(value, text);
                }
            }
            Part::Range(steps, parts) => {
                for value in find(steps, vec![Cow::Borrowed(value)])? {
                    render(parts, &value, text)?;
                }
            }
        }
    }
    Ok(())
}

/// Appends a string as it is, and an object or list as JSON.
fn plain(value: &Value, text: &mut String) {
    match value {
        Value::String(value) => text.push_str(value),
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => drop(write!(text, "{}", Number::from(number))),
        Value::Array(_) | Value::Object(_) => json(value, text),
    }
}

/// Appends JSON as Go writes it, with sorted fields and HTML characters escaped.
fn json(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                json(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (position, (name, value)) in fields.into_iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                quoted(name, text);
                text.push(':');
                json(value, text);
            }
            text.push('}');
        }
        Value::String(value) => quoted(value, text),
        other => drop(write!(text, "{other}")),
    }
}

fn quoted(value: &str, text: &mut String) {
    for letter in Value::from(value).to_string().chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => drop(write!(text, "\\u{:04x}", u32::from(letter))),
            letter => text.push(letter),
        }
    }
}

/// Displays a value as Go's `%v` does, as in kubectl's columns: `map[app:web]`, `[a b]`, `<nil>`.
///
/// ```
/// use serde_json::json;
/// use watchkeeper_wire::json_path::go_value;
///
/// assert_eq!(go_value(&json!({"b": [1, "x"], "a": null})).to_string(), "map[a:<nil> b:[1 x]]");
/// ```
pub fn go_value(value: &Value) -> impl fmt::Display + '_ {
    GoValue(value)
}

struct GoValue<'a>(&'a Value);

impl fmt::Display for GoValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("<nil>"),
            Value::String(text) => f.write_str(text),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(number) => write!(f, "{}", Number::from(number)),
            Value::Array(items) => {
                f.write_char('[')?;
                for (position, item) in items.iter().enumerate() {
                    write!(f, "{}{}", if position > 0 { " " } else { "" }, GoValue(item))?;
                }
                f.write_char(']')
            }
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_unstable_by_key(|(name, _)| *name);
                f.write_str("map[")?;
                for (position, (name, value)) in fields.into_iter().enumerate() {
                    write!(f, "{}{name}:{}", if position > 0 { " " } else { "" }, GoValue(value))?;
                }
                f.write_char(']')
            }
        }
    }
}
