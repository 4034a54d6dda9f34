//! Documents: parsed JSON or YAML that preserves the order of fields and duplicates, as field
//! validation requires.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// Maximum nesting depth of a request body: serde_json's limit, also applied to YAML.
pub const DOCUMENT_DEPTH: usize = 128;

/// A JSON or YAML value.
#[derive(Debug, Clone, PartialEq)]
pub enum Document {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Document>),
    /// Fields in the order of the text. The last of duplicate fields counts.
    Object(Vec<(String, Document)>),
}

impl Document {
    /// Returns the name of the value's type in Go's errors.
    pub fn go_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Returns the last value of the field with this name.
    pub fn field(&self, name: &str) -> Option<&Document> {
        let Self::Object(fields) = self else { return None };
        fields.iter().rfind(|(key, _)| key == name).map(|(_, value)| value)
    }
}

impl From<Document> for Value {
    fn from(node: Document) -> Self {
        match node {
            Document::Null => Self::Null,
            Document::Bool(value) => Self::Bool(value),
            Document::Number(value) => Self::Number(value),
            Document::Text(value) => Self::String(value),
            Document::List(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            Document::Object(fields) => {
                Self::Object(fields.into_iter().map(|(name, value)| (name, Self::from(value))).collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Document;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_unit<E>(self) -> Result<Document, E> {
                Ok(Document::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Document, E> {
                Ok(Document::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Document, E> {
                Ok(Document::Number(value.into()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Document, E> {
                Ok(Document::Number(value.into()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Document, E> {
                Ok(Number::from_f64(value).map_or(Document::Null, Document::Number)) // JSON has no NaN
            }
            fn visit_str<E>(self, value: &str) -> Result<Document, E> {
                Ok(Document::Text(value.to_owned()))
            }
            fn visit_string<E>(self, value: String) -> Result<Document, E> {
                Ok(Document::Text(value))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Document, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Document::List(list))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Document, A::Error> {
                let mut object = Vec::new();
                while let Some(field) = fields.next_entry()? {
                    object.push(field);
                }
                Ok(Document::Object(object))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// Parses JSON. Invalid UTF-8 becomes replacement characters, as in Go.
///
/// # Errors
/// An approximation of Go's error message.
pub fn read_json(body: &[u8]) -> Result<Document, String> {
    let text = String::from_utf8_lossy(body);
    serde_json::from_str(&text).map_err(|error| {
        if error.is_eof() {
            return "unexpected end of JSON input".to_owned();
        }
        let message = error.to_string();
        if message.starts_with("number out of range") {
            return message;
        }
        // serde_json's column is the one-based byte position in the line.
        let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
        let at = error.column().saturating_sub(1);
        let found = line.get(at..).and_then(|rest| rest.chars().next()).unwrap_or(' ');
        if message.starts_with("expected ident") {
            return format!("invalid character {found:?} in literal {}", literal_before(line, at));
        }
        let place = match message.as_str() {
            message if message.starts_with("recursion limit") => "exceeded max depth",
            message if message.starts_with("trailing characters") => "after top-level value",
            message if message.starts_with("key must be a string") => {
                "looking for beginning of object key string"
            }
            message if message.starts_with("expected `:`") => "after object key",
            message if message.starts_with("expected `,` or `}`") => "after object key:value pair",
            message if message.starts_with("expected `,` or `]`") => "after array element",
            message if message.starts_with("invalid escape") => "in string escape code",
            message if message.starts_with("control character") => "in string literal",
            _ => "looking for beginning of value",
        };
        format!("invalid character {found:?} {place}")
    })
}

/// Returns the literal (`true`, `false` or `null`) before the invalid character, and the expected character.
fn literal_before(line: &str, at: usize) -> String {
    let before = line.get(..at).unwrap_or_default();
    let found = ["true", "false", "null"].into_iter().find_map(|literal| {
        let matched = (1..literal.len()).rev().find(|length| before.ends_with(&literal[..*length]))?;
        Some(format!("{literal} (expecting '{}')", &literal[matched..=matched]))
    });
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_duplicates_are_preserved() {
        let node = read_json(br#"{"b":1,"a":2.5,"b":[null,true]}"#).unwrap();
        let Document::Object(fields) = &node else { panic!() };
        assert_eq!(fields.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["b", "a", "b"]);
        assert_eq!(Value::from(node), serde_json::json!({"a": 2.5, "b": [null, true]}));
    }

    #[test]
    fn errors_are_those_of_go() {
        for (text, error) in [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("no: pod", "invalid character 'o' in literal null (expecting 'u')"),
            (r#"{"a": fals }"#, "invalid character ' ' in literal false (expecting 'e')"),
            ("[true, trap]", "invalid character 'a' in literal true (expecting 'u')"),
            ("{}x", "invalid character 'x' after top-level value"),
            ("{\"a\":1} {}", "invalid character '{' after top-level value"),
            ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("[1 2]", "invalid character '2' after array element"),
        ] {
            assert_eq!(read_json(text.as_bytes()).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        assert_eq!(read_json(b"\"\xff\"").unwrap(), Document::Text("\u{fffd}".into()));
    }

    #[test]
    fn deep_documents_are_rejected() {
        let deep = "[".repeat(DOCUMENT_DEPTH + 1);
        assert_eq!(read_json(deep.as_bytes()).unwrap_err(), "invalid character '[' exceeded max depth");
    }
}
