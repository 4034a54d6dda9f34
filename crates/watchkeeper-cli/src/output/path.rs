//! Relaxed JSONPath of columns and sorting: `metadata.name`, `.metadata.name`, `{.metadata.name}`.

use serde_json::Value;
use watchkeeper_wire::json_path::JsonPath;

use crate::failure::Failure;

/// A path, and its canonical form for error messages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RelaxedPath {
    path: JsonPath,
    written: String,
}

impl RelaxedPath {
    /// # Errors
    /// If the path is invalid.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        let inner = inner.strip_prefix('.').unwrap_or(inner);
        if inner.is_empty() || inner.contains(['{', '}']) {
            return Err(Failure::error(
                "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or \
                 '{.name1.name2}'",
            ));
        }
        let written = format!("{{.{inner}}}");
        let path = written.parse().map_err(|error| Failure::of(&error))?;
        Ok(Self { path, written })
    }

    /// Returns the values at the path.
    ///
    /// # Errors
    /// If a value does not have the type that the path expects.
    pub(crate) fn find(&self, object: &Value) -> Result<Vec<Value>, Failure> {
        self.path.find(object).map_err(|error| Failure::of(&error))
    }

    /// Returns the canonical form, such as `{.metadata.name}`.
    pub(crate) fn as_str(&self) -> &str {
        &self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dot_and_braces_are_optional() {
        for text in ["a.b", ".a.b", "{a.b}", "{.a.b}"] {
            let path = RelaxedPath::parse(text).unwrap();
            assert_eq!(path.as_str(), "{.a.b}");
            assert_eq!(path.find(&json!({"a": {"b": 1}})).unwrap(), [json!(1)]);
        }
        for text in ["", ".", "{}", "{.a}{.b}", "{a", "a[", "a]"] {
            assert!(RelaxedPath::parse(text).is_err(), "{text}");
        }
    }
}
