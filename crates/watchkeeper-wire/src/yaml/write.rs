//! Writes JSON as YAML, byte for byte as Go does.

use serde_json::{Number, Value};

use super::text::write_text;

/// Longer and multi-line keys are written with `?`, as Go does.
const SIMPLE_KEY: usize = 128;

/// Writes JSON as YAML, with sorted keys, unindented lists, and strings quoted where a plain scalar would be
/// parsed differently. Long strings are folded as by Go.
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => write_fields(fields, 0, &mut out),
        Value::Array(items) if !items.is_empty() => write_items(items, 0, &mut out),
        value => {
            write_scalar(value, 2, &mut out); // indented: a line starting with `...` would end the document
            out.push('\n');
        }
    }
    out
}

fn write_fields(fields: &serde_json::Map<String, Value>, indent: usize, out: &mut String) {
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort(); // already sorted without serde_json's `preserve_order`
    for (position, name) in names.into_iter().enumerate() {
        if position > 0 {
            out.extend(std::iter::repeat_n(' ', indent));
        }
        if name.len() > SIMPLE_KEY || name.contains('\n') {
            out.push_str("? ");
            write_text(name, Some(indent + 2), out);
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(": ");
            write_entry(&fields[name], indent + 2, out);
            continue;
        }
        write_text(name, None, out);
        out.push(':');
        match &fields[name] {
            Value::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent + 2));
                write_fields(inner, indent + 2, out);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                write_items(items, indent, out);
            }
            value => {
                out.push(' ');
                write_scalar(value, indent + 2, out);
                out.push('\n');
            }
        }
    }
}

/// The caller has indented the first line.
fn write_items(items: &[Value], indent: usize, out: &mut String) {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.extend(std::iter::repeat_n(' ', indent));
        }
        out.push_str("- ");
        write_entry(item, indent + 2, out);
    }
}

/// Writes the value after `- ` or `: `.
fn write_entry(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => write_fields(fields, indent, out),
        Value::Array(items) if !items.is_empty() => write_items(items, indent, out),
        value => {
            write_scalar(value, indent, out);
            out.push('\n');
        }
    }
}

fn write_scalar(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::String(text) => write_text(text, Some(indent), out),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

/// Returns the number of characters in the current line.
pub(super) fn column_of(out: &str) -> usize {
    out.rsplit('\n').next().unwrap_or_default().chars().count()
}

/// Formats a number as Go's `%g`: floats below 1e-4 or above 1e6 have an exponent.
fn number_text(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    let is_whole = float.fract() == 0.0 && float.abs() < 1e21;
    if is_whole || (1e-4..1e6).contains(&float.abs()) {
        return format!("{float}");
    }
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_written_as_in_go() {
        let numbers = [
            (json!(1.5), "1.5"),
            (json!(1.0), "1"),
            (json!(1e-7), "1e-07"),
            (json!(0.0001), "0.0001"),
            (json!(1234567.5), "1.2345675e+06"),
            (json!(1e23), "1e+23"),
            (json!(-3), "-3"),
            (json!(u64::MAX), "18446744073709551615"),
        ];
        for (number, text) in numbers {
            assert_eq!(write(&number), format!("{text}\n"));
        }
    }

    #[test]
    fn long_strings_are_folded_as_in_go() {
        let words = "word ".repeat(20);
        let first = "word ".repeat(16);
        let first = first.trim_end();
        let folded = |text: &str| write(&json!({ "a": text }));
        assert_eq!(folded(words.trim_end()), format!("a: {first}\n  word word word word\n"));
        assert_eq!(folded(&format!("{words}x: y")), format!("a: '{first}\n  word word word word x: y'\n"));
        assert_eq!(
            folded(&format!("{words}\u{1f600}")),
            format!("a: \"{first}\n  word word word word \\U0001F600\"\n")
        );
        let list = json!({"a": {"b": [words.trim_end()]}});
        assert_eq!(write(&list), format!("a:\n  b:\n  - {first}\n    word word word word\n"));
        let key = "k ".repeat(60);
        assert_eq!(write(&json!({ key.trim_end(): 1 })), format!("{}: 1\n", key.trim_end()), "keys are not");
        let spaces = format!("{}   y", "x".repeat(90));
        assert_eq!(folded(&spaces), format!("a: {spaces}\n"), "several spaces are not");
    }
}
