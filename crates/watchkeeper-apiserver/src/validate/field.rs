//! Field: a place in an object, by its path, and what is there.

use serde_json::{Map, Value};

use crate::http::go_text::beginning;

/// From how many bytes on a path is not extended: below a very long key everything has the path of that key, so that
/// many faults do not multiply it.
const PATH_BYTES: usize = 1 << 10;

/// The path of something below a path, such as `[0]` or `.name`; cut where it is too long.
pub(crate) fn place(path: &str, below: std::fmt::Arguments<'_>) -> String {
    if path.len() > PATH_BYTES {
        return path.to_owned();
    }
    let mut place = format!("{path}{below}");
    place.truncate(beginning(&place, 2 * PATH_BYTES).len());
    place
}

/// What is where nothing is.
static NOTHING: Value = Value::Null;

/// A whole object, without `apiVersion` and `kind`.
#[derive(Clone, Copy)]
pub(crate) struct Object<'a>(pub(crate) &'a Map<String, Value>);

impl<'a> Object<'a> {
    /// `metadata`, `spec`, `data`, ...
    pub(crate) fn field(self, name: &str) -> Field<'a> {
        Field::at(name, self.0.get(name).unwrap_or(&NOTHING))
    }

    /// The name in the metadata.
    pub(crate) fn name(self) -> &'a str {
        self.0.get("metadata").and_then(|metadata| metadata["name"].as_str()).unwrap_or_default()
    }

    /// An annotation, empty where there is none.
    pub(crate) fn annotation(self, key: &str) -> Option<&'a str> {
        self.0.get("metadata")?.get("annotations")?.get(key)?.as_str()
    }
}

/// A place in an object, and what is there.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    path: String,
    value: &'a Value,
}

impl<'a> Field<'a> {
    /// A value at a path that says so.
    pub(crate) fn at(path: impl Into<String>, value: &'a Value) -> Self {
        Self { path: path.into(), value }
    }

    /// `spec.containers[0].name`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// What is there; null where nothing is.
    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    /// A field of this object.
    pub(crate) fn child(&self, name: &str) -> Self {
        Self { path: self.path_of(name), value: self.value.get(name).unwrap_or(&NOTHING) }
    }

    /// An item of this list.
    pub(crate) fn index(&self, at: usize) -> Self {
        Self {
            path: place(&self.path, format_args!("[{at}]")),
            value: self.value.get(at).unwrap_or(&NOTHING),
        }
    }

    /// A value of this map.
    pub(crate) fn key(&self, key: &str) -> Self {
        Self {
            path: place(&self.path, format_args!("[{key}]")),
            value: self.value.get(key).unwrap_or(&NOTHING),
        }
    }

    /// The items of this list, none where it is none.
    pub(crate) fn items(&self) -> impl Iterator<Item = Self> {
        (0..self.len()).map(|at| self.index(at))
    }

    /// The entries of this map by their keys, in their order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, Self)> {
        let keys = self.value.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        keys.map(|key| (key, self.key(key)))
    }

    /// The texts of this list.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.value.as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    /// How many items or entries there are, or bytes of a text.
    pub(crate) fn len(&self) -> usize {
        match self.value {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            Value::String(text) => text.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// Whether nothing is there, or an empty text, list or map.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0 && !self.value.is_number() && !self.value.is_boolean()
    }

    /// Whether anything is there.
    pub(crate) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether it is there and true.
    pub(crate) fn is_true(&self) -> bool {
        *self.value == Value::Bool(true)
    }

    /// The text that is there, or an empty one.
    pub(crate) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    /// The number that is there.
    pub(crate) fn number(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// The number that is there, or 0.
    pub(crate) fn count(&self) -> i64 {
        self.number().unwrap_or_default()
    }

    /// The path of a field of this object.
    pub(crate) fn path_of(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path => place(path, format_args!(".{name}")),
        }
    }
}
