//! Strict decoding: the checks of `fieldValidation=Warn` (the default) and `Strict` on a patch before it is applied.
//!
//! They report duplicate fields, of which JSON uses the last, and unknown fields of a JSON patch operation. The request
//! decides whether these are warnings or errors.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::PatchError;
use super::gofmt::{json_noun, q};

/// The maximum number of reported faults.
const MAX_FAULTS: usize = 100;

/// The patch formats, by content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchFormat {
    /// `application/json-patch+json`; see [`json`](super::json()).
    Json,
    /// `application/merge-patch+json`; see [`merge`](super::merge()).
    Merge,
    /// `application/strategic-merge-patch+json`; see [`strategic`](super::strategic()).
    Strategic,
}

/// Decodes a patch strictly and returns its faults as warnings. Fails with 400 if the patch does not have its format;
/// with `fieldValidation=Ignore` the functions that apply patches refuse it.
///
/// ```
/// # use watchkeeper_apiserver::patch::{self, PatchFormat};
/// let body = br#"[{"op": "add", "path": "/a", "value": 1, "vlaue": 2}]"#;
/// assert_eq!(patch::faults(PatchFormat::Json, body)?, [r#"json patch unknown field "[0].vlaue""#]);
///
/// let refused = patch::faults(PatchFormat::Merge, b"[]").expect_err("a list is not a merge patch");
/// let text = "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}";
/// assert_eq!(refused.to_string(), text);
/// # Ok::<(), patch::PatchError>(())
/// ```
pub fn faults(form: PatchFormat, patch: &[u8]) -> Result<Vec<String>, PatchError> {
    let mut faults = Faults { path: String::new(), found: Vec::new(), seen: HashSet::new() };
    let shape = match form {
        PatchFormat::Json => Shape::Operations,
        PatchFormat::Merge | PatchFormat::Strategic => Shape::Object,
    };
    let mut json = serde_json::Deserializer::from_slice(patch);
    let read = Walk { shape, faults: &mut faults }.deserialize(&mut json);
    let mismatch = read.and_then(|mismatch| json.end().map(|()| mismatch));
    match mismatch.map_err(|_| PatchError::BadRequest("invalid JSON patch".to_owned()))? {
        None => {}
        Some(mismatch) if form == PatchFormat::Strategic => return Err(PatchError::BadRequest(mismatch)),
        Some(mismatch) => return Err(PatchError::BadRequest(format!("error decoding patch: {mismatch}"))),
    }
    let prefix = if form == PatchFormat::Json { "json patch " } else { "" };
    Ok(faults.found.into_iter().map(|fault| format!("{prefix}{fault}")).collect())
}

struct Faults {
    /// The current path: `[0].value.a`.
    path: String,
    found: Vec<String>,
    seen: HashSet<String>,
}

impl Faults {
    fn add(&mut self, what: &str) {
        let fault = format!("{what} field {}", q(&self.path));
        if self.found.len() < MAX_FAULTS && self.seen.insert(fault.clone()) {
            self.found.push(fault);
        }
    }

    /// Descends into a field; returns the length to restore the path to.
    fn enter(&mut self, field: &str) -> usize {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(field);
        length
    }
}

/// The expected type of a value.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Anything,
    Object,
    Operations,
    Operation,
    /// A string field of an operation.
    Text(&'static str),
}

impl Shape {
    /// Returns Go's message if the value has another type. A null has every type.
    fn mismatch(self, value: &Value) -> Option<String> {
        let noun = json_noun(value);
        let into = match (self, value) {
            (_, Value::Null) | (Self::Anything, _) | (Self::Text(_), Value::String(_)) => return None,
            (Self::Object, _) => "value of type map[string]interface {}".to_owned(),
            (Self::Operations, _) => "value of type []handlers.jsonPatchOp".to_owned(),
            (Self::Operation, _) => "value of type handlers.jsonPatchOp".to_owned(),
            (Self::Text(field), _) => format!("struct field jsonPatchOp.{field} of type string"),
        };
        Some(format!("json: cannot unmarshal {noun} into Go {into}"))
    }
}

/// Decodes a value, records its faults, and returns the first mismatch.
struct Walk<'a> {
    shape: Shape,
    faults: &'a mut Faults,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Option<String>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(self.shape.mismatch(&Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(self.shape.mismatch(&value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(self.shape.mismatch(&value.into()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(self.shape.mismatch(&0.into()))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(self.shape.mismatch(&Value::String(String::new())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let shape = match self.shape {
            Shape::Anything => Shape::Anything,
            Shape::Operations => Shape::Operation,
            other => {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(other.mismatch(&Value::Array(Vec::new())));
            }
        };
        let (mut first, length) = (None, self.faults.path.len());
        for index in 0.. {
            self.faults.path.push_str(&format!("[{index}]"));
            let walk = Walk { shape, faults: &mut *self.faults };
            let Some(mismatch) = items.next_element_seed(walk)? else {
                break;
            };
            self.faults.path.truncate(length);
            first = first.or(mismatch);
        }
        self.faults.path.truncate(length);
        Ok(first)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        if !matches!(self.shape, Shape::Anything | Shape::Object | Shape::Operation) {
            while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(self.shape.mismatch(&Value::Object(serde_json::Map::new())));
        }
        let (mut first, mut names) = (None, HashSet::new());
        while let Some(name) = fields.next_key::<String>()? {
            let back = self.faults.enter(&name);
            let shape = match (self.shape, name.as_str()) {
                (Shape::Operation, "op") => Some(Shape::Text("op")),
                (Shape::Operation, "path") => Some(Shape::Text("path")),
                (Shape::Operation, "from") => Some(Shape::Text("from")),
                (Shape::Operation, "value") | (Shape::Anything | Shape::Object, _) => Some(Shape::Anything),
                _ => None,
            };
            match shape {
                Some(shape) => {
                    if !names.insert(name) {
                        self.faults.add("duplicate");
                    }
                    let mismatch = fields.next_value_seed(Walk { shape, faults: &mut *self.faults })?;
                    first = first.or(mismatch);
                }
                None => {
                    self.faults.add("unknown");
                    fields.next_value::<IgnoredAny>()?;
                }
            }
            self.faults.path.truncate(back);
        }
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings_of(form: PatchFormat, patch: &str) -> Result<Vec<String>, String> {
        faults(form, patch.as_bytes()).map_err(|error| format!("{}: {error}", error.code()))
    }

    #[test]
    fn duplicate_fields_are_reported_with_their_path() {
        let patch = r#"{"a": 1, "a": 2, "b": {"c": 1, "c": 2}, "d": [{}, {"e": 1, "e": 1}]}"#;
        let expected = [r#"duplicate field "a""#, r#"duplicate field "b.c""#, r#"duplicate field "d[1].e""#];
        assert_eq!(warnings_of(PatchFormat::Strategic, patch), Ok(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn unknown_fields_of_an_operation_are_reported_once() {
        let patch = r#"[{"x": 1, "x": 2, "op": "a", "op": "b", "value": {"a": 1, "a": 2}}, {"Path": 1}]"#;
        let expected = [
            r#"json patch unknown field "[0].x""#,
            r#"json patch duplicate field "[0].op""#,
            r#"json patch duplicate field "[0].value.a""#,
            r#"json patch unknown field "[1].Path""#,
        ];
        assert_eq!(warnings_of(PatchFormat::Json, patch), Ok(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_patch_of_another_format_is_refused_by_its_first_mismatch() {
        let text = "400: error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";
        assert_eq!(warnings_of(PatchFormat::Json, "{}"), Err(text.to_owned()));
        let text = "400: error decoding patch: json: cannot unmarshal bool into Go struct field jsonPatchOp.path of type string";
        assert_eq!(warnings_of(PatchFormat::Json, r#"[{"path": true, "op": 5}]"#), Err(text.to_owned()));
        let text = "400: json: cannot unmarshal number into Go value of type map[string]interface {}";
        assert_eq!(warnings_of(PatchFormat::Strategic, "5"), Err(text.to_owned()));
        assert_eq!(warnings_of(PatchFormat::Merge, "{"), Err("400: invalid JSON patch".to_owned()));
        assert_eq!(warnings_of(PatchFormat::Merge, "null"), Ok(Vec::new()));
    }

    #[test]
    fn unbounded_nesting_is_refused() {
        let patch = "[".repeat(100_000);
        assert_eq!(warnings_of(PatchFormat::Json, &patch), Err("400: invalid JSON patch".to_owned()));
    }
}
