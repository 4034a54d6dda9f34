//! Field: a value in an object, and its path.

use serde_json::{Map, Value};

use crate::http::go_text::beginning;

/// Paths longer than this are not extended, so that many faults below a very long key do not multiply it.
const PATH_BYTES: usize = 1 << 10;

/// Appends `[0]` or `.name` to a path; truncated if it is too long.
pub(crate) fn place(path: &str, below: std::fmt::Arguments<'_>) -> String {
    if path.len() > PATH_BYTES {
        return path.to_owned();
    }
    let mut place = format!("{path}{below}");
    place.truncate(beginning(&place, 2 * PATH_BYTES).len());
    place
}

/// The value of absent fields.
static NOTHING: Value = Value::Null;

/// A whole object, without `apiVersion` and `kind`.
#[derive(Clone, Copy)]
pub(crate) struct Object<'a>(pub(crate) &'a Map<String, Value>);

impl<'a> Object<'a> {
    /// Returns `metadata`, `spec`, `data`, ...
    pub(crate) fn field(self, name: &str) -> Field<'a> {
        Field::at(name, self.0.get(name).unwrap_or(&NOTHING))
    }

    /// Returns the name in the metadata.
    pub(crate) fn name(self) -> &'a str {
        self.0.get("metadata").and_then(|metadata| metadata["name"].as_str()).unwrap_or_default()
    }

    /// Returns an annotation.
    pub(crate) fn annotation(self, key: &str) -> Option<&'a str> {
        self.0.get("metadata")?.get("annotations")?.get(key)?.as_str()
    }
}

/// A value in an object, and its path.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    path: String,
    value: &'a Value,
}

impl<'a> Field<'a> {
    /// Creates a field from a path and a value.
    pub(crate) fn at(path: impl Into<String>, value: &'a Value) -> Self {
        Self { path: path.into(), value }
    }

    /// Returns its path: `spec.containers[0].name`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the value; null if absent.
    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    /// Returns a field of this object.
    pub(crate) fn child(&self, name: &str) -> Self {
        Self { path: self.path_of(name), value: self.value.get(name).unwrap_or(&NOTHING) }
    }

    /// Returns an item of this list.
    pub(crate) fn index(&self, at: usize) -> Self {
        Self {
            path: place(&self.path, format_args!("[{at}]")),
            value: self.value.get(at).unwrap_or(&NOTHING),
        }
    }

    /// Returns a value of this map.
    pub(crate) fn key(&self, key: &str) -> Self {
        Self {
            path: place(&self.path, format_args!("[{key}]")),
            value: self.value.get(key).unwrap_or(&NOTHING),
        }
    }

    /// Returns the items of this list; none if it is not a list.
    pub(crate) fn items(&self) -> impl Iterator<Item = Self> {
        (0..self.len()).map(|at| self.index(at))
    }

    /// Returns the entries of this map, in their order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, Self)> {
        let keys = self.value.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        keys.map(|key| (key, self.key(key)))
    }

    /// Returns the strings of this list.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.value.as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns the number of items or entries, or of bytes of a string.
    pub(crate) fn len(&self) -> usize {
        match self.value {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            Value::String(text) => text.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// Returns whether it is absent, or an empty string, list or map.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0 && !self.value.is_number() && !self.value.is_boolean()
    }

    /// Returns whether it is present.
    pub(crate) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Returns whether it is `true`.
    pub(crate) fn is_true(&self) -> bool {
        *self.value == Value::Bool(true)
    }

    /// Returns the string, or an empty one.
    pub(crate) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    /// Returns the number.
    pub(crate) fn number(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// Returns the number, or 0.
    pub(crate) fn count(&self) -> i64 {
        self.number().unwrap_or_default()
    }

    /// Returns the path of a field of this object.
    pub(crate) fn path_of(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path => place(path, format_args!(".{name}")),
        }
    }
}
