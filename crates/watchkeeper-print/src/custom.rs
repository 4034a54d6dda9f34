//! Custom cells: what a definition shows of its objects.

use serde::Deserialize;
use serde_json::Value;
use watchkeeper_core::Timestamp;
use watchkeeper_wire::json_path::{JsonPath, go_value};

use crate::times::Times;

/// A column that a definition asks for: one of its `additionalPrinterColumns`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PrinterColumn {
    /// Its heading.
    pub name: String,
    /// `integer`, `number`, `boolean`, `string` or `date`.
    #[serde(rename = "type")]
    pub value_type: String,
    /// How a client is to show it; mostly empty.
    pub format: String,
    /// What it means.
    pub description: String,
    /// 0 where it is always shown; more where only `-o wide` does.
    pub priority: i32,
    /// Where in an object it is.
    pub json_path: String,
}

/// A cell that a definition asks for.
#[derive(Debug, Clone)]
pub(crate) struct CustomCell {
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

    /// Null where the object has nothing there that is of the form.
    pub(crate) fn value(&self, object: &Value, times: Times) -> Value {
        let found = self.path.as_ref().and_then(|path| path.find(object).ok()?.into_iter().next());
        let Some(value) = found else { return Value::Null };
        match (self.form, &value) {
            (Form::Text, Value::Null) => "<no value>".into(),
            (Form::Text, Value::String(text)) => text.as_str().into(),
            (Form::Text, Value::Array(_) | Value::Object(_)) => value.to_string().into(),
            // What fits no `int64` is a `float64` to Go.
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
                Ok(moment) if moment == Timestamp::GO_ZERO => "<unknown>".into(),
                Ok(moment) => times.show(moment).into(),
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
        let object = json!({"s": "x", "i": 3, "f": 2.5, "u": 18446744073709551615u64, "b": true, "l": [1, "a"], "n": null,
                            "t": "2026-11-15T09:00:00Z", "e": ""});
        let now = "2026-11-15T10:00:00Z".parse().unwrap();
        let cell = |form: &str, path: &str| {
            let column = PrinterColumn {
                value_type: form.to_owned(),
                json_path: path.to_owned(),
                ..PrinterColumn::default()
            };
            CustomCell::new(&column).value(&object, Times::Ages { now })
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
