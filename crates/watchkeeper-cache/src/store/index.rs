//! Index: a named function from an object to the values it can be looked up by.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use watchkeeper_core::Object;
use watchkeeper_wire::{FieldPath, Kind, decode, read_field};

/// A function from an object to its index values.
///
/// Runs on the writer's thread, once for each state of an object that is added or removed. It must be deterministic:
/// an object's old values are computed again to remove them.
pub trait IndexBy<T>: Send + Sync {
    /// Calls `found` with each index value of an object.
    fn values(&self, object: &T, found: &mut dyn FnMut(&str));
}

/// A function that returns the values.
impl<T, F: Fn(&T) -> Vec<String> + Send + Sync> IndexBy<T> for F {
    fn values(&self, object: &T, found: &mut dyn FnMut(&str)) {
        for value in self(object) {
            found(&value);
        }
    }
}

/// An index by the values at a field path, read without decoding the object: see [`read_field`].
///
/// An object whose field cannot be read is stored, and is missing from the index.
///
/// ```
/// use watchkeeper_cache::Store;
/// use watchkeeper_cache::store::ByField;
/// use watchkeeper_wire::Kind;
///
/// let (store, _writer) = Store::new();
/// store.add_index("node", ByField::new(Kind::new("", "v1", "Pod"), "spec.nodeName".parse()?))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ByField {
    kind: Kind,
    path: FieldPath,
}

impl ByField {
    /// Creates an index by `path` for objects of `kind`.
    pub fn new(kind: Kind, path: FieldPath) -> Self {
        Self { kind, path }
    }
}

impl IndexBy<Object> for ByField {
    fn values(&self, object: &Object, found: &mut dyn FnMut(&str)) {
        if let Err(error) = read_field(&object.encoded, &self.kind, &self.path, found) {
            tracing::debug!(key = %object.head.key(), path = %self.path, %error, "failed to index object");
        }
    }
}

/// An index by a function of the decoded object. Every object is decoded when it is written.
///
/// An object that cannot be decoded as a `K` is stored, and is missing from the index.
#[derive(Debug, Clone)]
pub struct ByView<K, F> {
    kind: Kind,
    values: F,
    of: std::marker::PhantomData<fn() -> K>,
}

impl<K, F: Fn(&K) -> Vec<String>> ByView<K, F> {
    /// Creates an index by `values` for objects of `kind`.
    pub fn new(kind: Kind, values: F) -> Self {
        Self { kind, values, of: std::marker::PhantomData }
    }
}

impl<K: DeserializeOwned, F: Fn(&K) -> Vec<String> + Send + Sync> IndexBy<Object> for ByView<K, F> {
    fn values(&self, object: &Object, found: &mut dyn FnMut(&str)) {
        match decode::<K>(&object.encoded, &self.kind) {
            Ok(view) => (self.values)(&view).iter().for_each(|value| found(value)),
            Err(error) => {
                tracing::debug!(key = %object.head.key(), %error, "failed to index object");
            }
        }
    }
}

/// An index function and its name.
pub(super) struct Index<T> {
    pub(super) name: Arc<str>,
    by: Arc<dyn IndexBy<T>>,
}

impl<T> Index<T> {
    pub(super) fn new(name: &str, by: impl IndexBy<T> + 'static) -> Self {
        Self { name: name.into(), by: Arc::new(by) }
    }

    pub(super) fn values(&self, object: &T) -> Vec<String> {
        let mut values = Vec::new();
        self.by.values(object, &mut |value| values.push(value.to_owned()));
        values
    }
}

impl<T> Clone for Index<T> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), by: self.by.clone() }
    }
}

impl<T> fmt::Debug for Index<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An index with this name already exists.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("index {name:?} already exists")]
pub struct IndexExists {
    /// The name.
    pub name: String,
}

/// No index with this name exists.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("index {name:?} not found: available indexes are {}", .known.join(", "))]
pub struct UnknownIndex {
    /// The name that was looked up.
    pub name: String,
    /// The names of the indexes that exist.
    pub known: Vec<String>,
}
