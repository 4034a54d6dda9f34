//! Cells of custom resources.

use serde::Deserialize;
use serde_json::Value;
use watchkeeper_core::Timestamp;
use watchkeeper_wire::json_path::{JsonPath, go_value};

use crate::timestamp_format::TimestampFormat;

/// One of a CustomResourceDefinition's `additionalPrinterColumns`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PrinterColumn {
    /// The heading.
    pub name: String,
    /// `integer`, `number`, `boolean`, `string` or `date`.
    #[serde(rename = "type")]
    pub value_type: String,
    /// A format hint for clients; mostly empty.
    pub format: String,
    /// The description.
    pub description: String,
    /// 0 for columns that are always shown; greater for `-o wide`.
    pub priority: i32,
    /// The JSONPath of the value.
    pub json_path: String,
}

/// A cell of a custom column.
#[derive(Debug, Clone)]
pub(crate) struct CustomCell {
    /// `None` if the path is invalid.
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
    pub(crate) fn new(column: &PrinterColumn) -> Self {
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

    pub(crate) fn is_date(&self) -> bool {
        matches!(self.form, Form::Date)
    }

    /// Returns the value; null if it is absent or of another type.
    pub(crate) fn value(&self, object: &Value, times: TimestampFormat) -> Value {
        let found = self.path.as_ref().and_then(|path| path.find(object).ok()?.into_iter().next());
        let Some(value) = found else { return Value::Null };
        match (self.form, &value) {
            (Form::Text, Value::Null) => "<no value>".into(),
            (Form::Text, Value::String(text)) => text.as_str().into(),
            (Form::Text, Value::Array(_) | Value::Object(_)) => value.to_string().into(),
            // In Go, numbers beyond `int64` are `float64`.
            (Form::Text, Value::Number(number)) if number.as_i64().is_none() => {
                go_value(&number.as_f64().into()).to_string().into()
            }
            (Form::Text, plain) => go_value(plain).to_string().into(),
            (Form::Integer, Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => number.into(),
                (None, Some(number)) => (number as i64).into(),
                (None, None) => Value::Null,
            },
            (Form::Number, Value::Number(_)) | (Form::Boolean, Value::Bool(_)) => value,
            (Form::Date, Value::String(text)) => match text.parse::<Timestamp>() {
                _ if text.is_empty() => "<unknown>".into(),
                Ok(time) if time == Timestamp::GO_ZERO => "<unknown>".into(),
                Ok(time) => times.format(time).into(),
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
    fn cells_have_values_of_their_type() {
        let object = json!({"s": "x", "i": 3, "f": 2.5, "u": 18446744073709551615u64, "b": true, "l": [1, "a"], "n": null,
                            "t": "2026-11-15T09:00:00Z", "e": ""});
        let now = "2026-11-15T10:00:00Z".parse().unwrap();
        let cell = |form: &str, path: &str| {
            let column = PrinterColumn {
                value_type: form.to_owned(),
                json_path: path.to_owned(),
                ..PrinterColumn::default()
            };
            CustomCell::new(&column).value(&object, TimestampFormat::Age { now })
        };
        let cases = [
            ("string", ".s", json!("x")),
            ("string", ".i", json!("3")),
            ("string", ".u", json!("1.8446744073709552e+19")),
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
