//! Custom cells: what a definition shows of its objects.

use serde_json::Value;
use watchkeeper_core::Timestamp;
use watchkeeper_wire::json_path::JsonPath;

use super::elapsed::elapsed;
use crate::custom::PrinterColumn;
use crate::patch::go_text;

/// A cell that a definition asks for.
#[derive(Debug, Clone)]
pub(super) struct CustomCell {
    /// Nowhere, if what the definition says is no path.
    path: Option<JsonPath>,
    form: Form,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Integer,
    Number,
    Boolean,
    Text,
    Date,
    Unknown,
}

impl CustomCell {
    pub(super) fn new(column: &PrinterColumn) -> Self {
        let form = match &*column.value_type {
            "integer" => Form::Integer,
            "number" => Form::Number,
            "boolean" => Form::Boolean,
            "string" => Form::Text,
            "date" => Form::Date,
            _ => Form::Unknown,
        };
        Self { path: column.json_path.parse().ok(), form }
    }

    /// Null where the object has nothing there that is of the form.
    pub(super) fn value(&self, object: &Value, now: Timestamp) -> Value {
        let found = self.path.as_ref().and_then(|path| path.find(object).ok()?.into_iter().next());
        let Some(value) = found else { return Value::Null };
        match (self.form, &value) {
            (Form::Text, Value::Null) => "<no value>".into(),
            (Form::Text, Value::String(text)) => text.as_str().into(),
            (Form::Text, Value::Array(_) | Value::Object(_)) => value.to_string().into(),
            (Form::Text, plain) => go_text(plain).into(),
            (Form::Integer, Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => number.into(),
                (None, Some(number)) => (number as i64).into(),
                (None, None) => Value::Null,
            },
            (Form::Number, Value::Number(_)) | (Form::Boolean, Value::Bool(_)) => value,
            (Form::Date, Value::String(text)) => match text.parse::<Timestamp>() {
                _ if text.is_empty() => "<unknown>".into(),
                Ok(moment) if moment == Timestamp::GO_ZERO => "<unknown>".into(),
                Ok(moment) => elapsed(moment, now).into(),
                Err(_) => "<invalid>".into(),
            },
            _ => Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cell_shows_what_is_of_its_form() {
        let object = json!({"s": "x", "i": 3, "f": 2.5, "b": true, "l": [1, "a"], "n": null,
                            "t": "2026-11-15T09:00:00Z", "e": ""});
        let now = "2026-11-15T10:00:00Z".parse().unwrap();
        let cell = |form: &str, path: &str| {
            let column = PrinterColumn {
                value_type: form.to_owned(),
                json_path: path.to_owned(),
                ..PrinterColumn::default()
            };
            CustomCell::new(&column).value(&object, now)
        };
        let cases = [
            ("string", ".s", json!("x")),
            ("string", ".i", json!("3")),
            ("string", ".b", json!("true")),
            ("string", ".l", json!("[1,\"a\"]")),
            ("string", ".n", json!("<no value>")),
            ("string", ".absent", json!(null)),
            ("integer", ".i", json!(3)),
            ("integer", ".f", json!(2)),
            ("integer", ".s", json!(null)),
            ("number", ".f", json!(2.5)),
            ("boolean", ".b", json!(true)),
            ("boolean", ".i", json!(null)),
            ("date", ".t", json!("60m")),
            ("date", ".s", json!("<invalid>")),
            ("date", ".e", json!("<unknown>")),
        ];
        for (form, path, expected) in cases {
            assert_eq!(cell(form, path), expected, "{form} {path}");
        }
    }
}
