//! Misfit: Go's message for a value of the wrong type when it converts a map to a struct without JSON in between, as
//! it does with the result of a strategic patch.

use serde_json::Value;
use watchkeeper_wire::schema::{Field, Form, Message, Schema, Shape};

use super::gofmt::{Number, type_name};

/// Returns the first type error of an object; `None` if only decoding its JSON would find one.
///
/// Go names defined string types; here every string is a `string`.
pub fn misfit(object: &Value, schema: &Schema, message: &Message) -> Option<String> {
    let Value::Object(fields) = object else {
        return Some(format!("cannot restore struct from: {}", go_kind(object)));
    };
    message.fields().iter().find_map(|field| match (field.shape(), field.form()) {
        (Shape::Inline, Form::Message(id)) => misfit(object, schema, schema.get(id)),
        _ => fields.get(field.name()).and_then(|value| misfit_in(value, schema, field)),
    })
}

fn misfit_in(value: &Value, schema: &Schema, field: &Field) -> Option<String> {
    match (field.shape(), value) {
        (_, Value::Null) => None,
        (Shape::List, Value::Array(items)) => {
            items.iter().find_map(|item| misfit_of(item, schema, field.form()))
        }
        (Shape::Map, Value::Object(fields)) => {
            fields.values().find_map(|value| misfit_of(value, schema, field.form()))
        }
        (Shape::List, other) => Some(format!("cannot restore slice from {}", go_kind(other))),
        (Shape::Map, other) => Some(format!("cannot restore map from {}", go_kind(other))),
        (Shape::One | Shape::Optional | Shape::Inline, value) => misfit_of(value, schema, field.form()),
    }
}

fn misfit_of(value: &Value, schema: &Schema, form: Form) -> Option<String> {
    let number = |value: &Value| match value {
        Value::Number(number) => Some(Number::of(number)),
        _ => None,
    };
    match (form, value) {
        (_, Value::Null)
        | (Form::Bool, Value::Bool(_))
        | (Form::String | Form::Bytes, Value::String(_))
        | (Form::Double, Value::Number(_)) => None,
        (Form::String, value) if matches!(number(value), Some(Number::Int(_))) => {
            Some("cannot convert int64 to string".to_owned())
        }
        (Form::Int32 | Form::Int64, value) => {
            let kind = if form == Form::Int32 { "int32" } else { "int64" };
            match number(value) {
                Some(Number::Int(_)) => None,
                Some(Number::Float(number)) if number.trunc() == number => None,
                Some(Number::Float(_)) => Some(format!("cannot convert float64 to {kind}")),
                None => Some(format!("unrecognized type: {kind}")),
            }
        }
        (Form::Bool, _) => Some("unrecognized type: bool".to_owned()),
        (Form::String, _) => Some("unrecognized type: string".to_owned()),
        (Form::Double, _) => Some("unrecognized type: float64".to_owned()),
        (Form::Bytes, other) => Some(format!("cannot restore slice from {}", go_kind(other))),
        (Form::Message(id), value) => misfit(value, schema, schema.get(id)),
        _ => None, // types that decode their own JSON
    }
}

/// Returns the `reflect.Kind` of a value that Go has decoded from JSON.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        scalar => type_name(scalar),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use watchkeeper_wire::schema;

    use super::*;

    fn message(group: &str, kind: &str, object: &Value) -> String {
        let schema = schema::builtin();
        let message = schema.message(group, "v1", kind).unwrap();
        misfit(object, schema, message).unwrap_or_default()
    }

    /// The messages are those of kube-apiserver.
    #[test]
    fn type_errors_have_gos_messages() {
        for (object, text) in [
            (json!({"data": {"a": "b", "c": null}, "immutable": true}), ""),
            (json!({"data": {"a": 5}}), "cannot convert int64 to string"),
            (json!({"data": {"a": true}}), "unrecognized type: string"),
            (json!({"data": {"a": 1.5}}), "unrecognized type: string"),
            (json!({"data": [1]}), "cannot restore map from slice"),
            (json!({"data": "x"}), "cannot restore map from string"),
            (json!({"immutable": "x"}), "unrecognized type: bool"),
            (json!({"metadata": 7}), "cannot restore struct from: int64"),
            (json!({"metadata": {"finalizers": {"a": 1}}}), "cannot restore slice from map"),
        ] {
            assert_eq!(message("", "ConfigMap", &object), text, "{object}");
        }
        for (object, text) in [
            (json!({"spec": {"replicas": "3"}}), "unrecognized type: int32"),
            (json!({"spec": {"replicas": 1.5}}), "cannot convert float64 to int32"),
            (json!({"spec": {"replicas": 2.0}}), ""),
            (json!({"spec": {"template": []}}), "cannot restore struct from: slice"),
        ] {
            assert_eq!(message("apps", "Deployment", &object), text, "{object}");
        }
    }
}
