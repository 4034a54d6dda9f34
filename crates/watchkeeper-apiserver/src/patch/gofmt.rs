//! Go's formatting of JSON values in error messages: `%v`, `%s`, `%q` and type names.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// A number as Go decodes it: an `int64` if it fits, else a `float64`.
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub(super) fn of(number: &serde_json::Number) -> Self {
        number.as_i64().map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::INFINITY)), Self::Int)
    }
}

/// `%v`.
pub(crate) fn v(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, Verb::V);
    out
}

/// `%v` of a list.
pub(super) fn v_list(items: &[Value]) -> String {
    let mut out = String::new();
    write_list(&mut out, items, Verb::V);
    out
}

/// `%v` of an object.
pub(super) fn v_object(fields: &Map<String, Value>) -> String {
    let mut out = String::new();
    write_object(&mut out, fields, Verb::V);
    out
}

/// `%s`, which names the type of anything but a string.
pub(super) fn s(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Null => out.push_str("%!s(<nil>)"),
        other => write(&mut out, other, Verb::S),
    }
    out
}

/// `%q` of a string.
pub(super) fn q(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            '\0'..='\x1f' | '\x7f' => {
                let _ = write!(out, "\\x{:02x}", u32::from(character));
            }
            other if other.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(other));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Returns the name of the Go type of a value, as `%T`.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Returns the name of the Go type of a patched value, as `%s` of `reflect.TypeOf`: whole numbers are integers.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) => match Number::of(number) {
            Number::Int(_) => "int64",
            Number::Float(_) => "float64",
        },
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Returns the name that Go's JSON decoder gives an unexpected value.
pub(super) fn json_noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Verb {
    V,
    S,
}

fn write(out: &mut String, value: &Value, verb: Verb) {
    let scalar = match value {
        Value::Null => return out.push_str("<nil>"),
        Value::String(text) => return out.push_str(text),
        Value::Array(items) => return write_list(out, items, verb),
        Value::Object(fields) => return write_object(out, fields, verb),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => match Number::of(number) {
            Number::Int(value) => value.to_string(),
            Number::Float(value) => float(value),
        },
    };
    match verb {
        Verb::V => out.push_str(&scalar),
        Verb::S => {
            let _ = write!(out, "%!s({}={scalar})", type_name(value));
        }
    }
}

fn write_object(out: &mut String, fields: &Map<String, Value>, verb: Verb) {
    let mut sorted: Vec<_> = fields.iter().collect();
    sorted.sort_by_key(|(name, _)| name.as_str());
    out.push_str("map[");
    for (position, (name, field)) in sorted.into_iter().enumerate() {
        out.push_str(if position == 0 { "" } else { " " });
        out.push_str(name);
        out.push(':');
        write(out, field, verb);
    }
    out.push(']');
}

fn write_list(out: &mut String, items: &[Value], verb: Verb) {
    out.push('[');
    for (position, item) in items.iter().enumerate() {
        out.push_str(if position == 0 { "" } else { " " });
        write(out, item, verb);
    }
    out.push(']');
}

/// `%g`: the shortest representation that round-trips, with an exponent from 1e+06 and below 1e-04.
fn float(value: f64) -> String {
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(-4..6) => format!("{value}"),
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        Err(_) => scientific,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_map_is_printed_in_the_order_of_its_keys() {
        let value = json!({"b": [1, "x", null, true], "a": {"c": 1.5}});
        assert_eq!(v(&value), "map[a:map[c:1.5] b:[1 x <nil> true]]");
    }

    #[test]
    fn percent_s_names_the_type_of_anything_but_a_string() {
        assert_eq!(s(&json!("merge")), "merge");
        assert_eq!(s(&json!(5)), "%!s(int64=5)");
        assert_eq!(s(&json!(null)), "%!s(<nil>)");
        assert_eq!(s(&json!([1, "a", null])), "[%!s(int64=1) a <nil>]");
    }

    #[test]
    fn large_and_small_numbers_have_an_exponent() {
        assert_eq!(v(&json!([0.5, 100000.5, 1e6, 1e-5, 1.25e21])), "[0.5 100000.5 1e+06 1e-05 1.25e+21]");
        assert_eq!(v(&json!(u64::MAX)), "1.8446744073709552e+19");
    }

    #[test]
    fn strings_are_quoted_as_in_go_source() {
        assert_eq!(q("a\"b\\\n\x01é"), "\"a\\\"b\\\\\\n\\x01é\"");
    }
}
