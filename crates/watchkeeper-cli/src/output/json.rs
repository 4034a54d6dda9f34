//! JSON in Go's format: sorted names, and HTML characters escaped.
//!
//! Names are sorted alphabetically, as in a Go map, or in the order of a type's fields, as in a Go struct.

use serde_json::{Number, Value};
use watchkeeper_wire::schema::{self, Form, Message, Shape};

/// Formats with an indentation of four spaces, as kubectl does, without a line break at the end.
pub(crate) fn indented(value: &Value) -> String {
    let mut text = String::new();
    write(value, None, Some(0), &mut text);
    text
}

/// Formats as [`indented`], with fields in the order of their type.
pub(crate) fn indented_as(value: &Value, of: &Message) -> String {
    let mut text = String::new();
    write(value, Some(of), Some(0), &mut text);
    text
}

/// Formats on one line.
pub(crate) fn compact(value: &Value) -> String {
    let mut text = String::new();
    write(value, None, None, &mut text);
    text
}

fn write(value: &Value, of: Option<&Message>, indent: Option<usize>, text: &mut String) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&number_text(number)),
        Value::String(value) => quoted(value, text),
        Value::Array(items) if items.is_empty() => text.push_str("[]"),
        Value::Array(items) => {
            text.push('[');
            let inner = indent.map(|indent| indent + 4);
            for (position, item) in items.iter().enumerate() {
                between(position, inner, text);
                write(item, of, inner, text);
            }
            line_break(indent, text);
            text.push(']');
        }
        Value::Object(fields) if fields.is_empty() => text.push_str("{}"),
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| (of.map(|of| rank(of, name)), *name));
            text.push('{');
            let inner = indent.map(|indent| indent + 4);
            for (position, (name, value)) in fields.into_iter().enumerate() {
                between(position, inner, text);
                quoted(name, text);
                text.push_str(if inner.is_some() { ": " } else { ":" });
                write(value, of.and_then(|of| type_of(of, name)), inner, text);
            }
            line_break(indent, text);
            text.push('}');
        }
    }
}

/// Returns the position of a field in its Go struct; `kind` and `apiVersion` come first.
fn rank(of: &Message, name: &str) -> u32 {
    match (of.name(), name, of.field(name)) {
        ("meta.v1.OwnerReference", "apiVersion", _) => 0, // its protobuf field number is higher
        (_, _, Some(field)) => field.number() + 1,
        (_, "kind", None) => 0,
        (_, "apiVersion", None) => 1,
        (_, _, None) => u32::MAX,
    }
}

/// Returns the message type of a field, or of its list items.
fn type_of(of: &Message, name: &str) -> Option<&'static Message> {
    let field = of.field(name).filter(|field| field.shape() != Shape::Map)?;
    match field.form() {
        Form::Message(id) => Some(schema::builtin().get(id)),
        _ => None,
    }
}

fn between(position: usize, indent: Option<usize>, text: &mut String) {
    if position > 0 {
        text.push(',');
    }
    line_break(indent, text);
}

fn line_break(indent: Option<usize>, text: &mut String) {
    if let Some(indent) = indent {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', indent));
    }
}

/// Formats a number as Go does: whole numbers without a decimal point, very large and small ones with an exponent.
fn number_text(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    if float == 0.0 || (1e-6..1e21).contains(&float.abs()) {
        return format!("{float}");
    }
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}

fn quoted(value: &str, text: &mut String) {
    for letter in Value::from(value).to_string().chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => text.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn indentation_is_kubectls() {
        let value = json!({"b": [], "a": {"x": [1, {"y": null}], "e": {}}});
        let expected = "{\n    \"a\": {\n        \"e\": {},\n        \"x\": [\n            1,\n            {\n\
                        \x20               \"y\": null\n            }\n        ]\n    },\n    \"b\": []\n}";
        assert_eq!(indented(&value), expected);
        assert_eq!(compact(&value), r#"{"a":{"e":{},"x":[1,{"y":null}]},"b":[]}"#);
    }

    #[test]
    fn typed_fields_are_in_struct_order() {
        let metadata = json!({"namespace": "b", "name": "a", "labels": {"name": "x", "kind": "y"},
            "ownerReferences": [{"name": "c", "kind": "Pod", "apiVersion": "v1"}]});
        let about = json!({"name": "c", "namespace": "b", "kind": "Pod", "apiVersion": "v1"});
        let event = json!({"apiVersion": "v1", "kind": "Event", "new": 1, "count": 1, "metadata": metadata,
            "involvedObject": about});
        let message = schema::builtin().message("", "v1", "Event").unwrap();
        let text = indented_as(&event, message);
        let words: Vec<&str> =
            text.split(['"', ':', ' ', '\n', ',', '{', '}']).filter(|it| it.len() > 1).collect();
        assert_eq!(
            words.join(" "),
            "kind Event apiVersion v1 metadata name namespace labels kind name ownerReferences apiVersion v1 kind \
             Pod name involvedObject kind Pod namespace name apiVersion v1 count new"
        );
    }

    #[test]
    fn strings_and_numbers_are_formatted_as_in_go() {
        assert_eq!(
            compact(&json!("<a> & \"b\"\u{2028}\n\u{1}")),
            r#""\u003ca\u003e \u0026 \"b\"\u2028\n\u0001""#
        );
        let numbers = json!([1.0, 1.5, 1e21, 1e-7, 0.0, u64::MAX, -3]);
        assert_eq!(compact(&numbers), "[1,1.5,1e+21,1e-7,0,18446744073709551615,-3]");
    }
}
