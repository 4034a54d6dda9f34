//! Index: by what objects are found.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use watchkeeper_core::Object;
use watchkeeper_wire::{FieldPath, Kind, decode, read_field};

/// What says by which values an object is found.
///
/// It is asked for each state of an object, by whoever writes; the same state must always give the same values.
pub trait IndexBy<T>: Send + Sync {
    /// Hands over the values of an object: none, one or several.
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

/// By the values at the end of a path: see [`read_field`]. What cannot be read is in the store, and is not found
/// by this.
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
    /// A path in objects of a kind.
    pub fn new(kind: Kind, path: FieldPath) -> Self {
        Self { kind, path }
    }
}

impl IndexBy<Object> for ByField {
    fn values(&self, object: &Object, found: &mut dyn FnMut(&str)) {
        if let Err(error) = read_field(&object.encoded, &self.kind, &self.path, found) {
            tracing::debug!(key = %object.metadata.key(), path = %self.path, %error, "an object cannot be indexed");
        }
    }
}

/// By a function of objects as a `K`, which costs decoding them. What is no `K` is in the store, and is not found
/// by this.
#[derive(Debug, Clone)]
pub struct ByView<K, F> {
    kind: Kind,
    values: F,
    of: std::marker::PhantomData<fn() -> K>,
}

impl<K, F: Fn(&K) -> Vec<String>> ByView<K, F> {
    /// A function of objects of a kind.
    pub fn new(kind: Kind, values: F) -> Self {
        Self { kind, values, of: std::marker::PhantomData }
    }
}

impl<K: DeserializeOwned, F: Fn(&K) -> Vec<String> + Send + Sync> IndexBy<Object> for ByView<K, F> {
    fn values(&self, object: &Object, found: &mut dyn FnMut(&str)) {
        match decode::<K>(&object.encoded, &self.kind) {
            Ok(view) => (self.values)(&view).iter().for_each(|value| found(value)),
            Err(error) => {
                tracing::debug!(key = %object.metadata.key(), %error, "an object cannot be indexed");
            }
        }
    }
}

/// A way to find objects, and its name.
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

/// There is an index of this name already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is an index {name:?} already")]
pub struct IndexExists {
    /// The name.
    pub name: String,
}

/// There is no index of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no index {name:?}: there are {}", .known.join(", "))]
pub struct UnknownIndex {
    /// The name.
    pub name: String,
    /// The indexes that there are.
    pub known: Vec<String>,
}
