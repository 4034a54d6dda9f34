//! Index: a named function from an object to the values it can be looked up by.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use watchkeeper_core::Object;
use watchkeeper_wire::{FieldPath, Kind, decode, read_field};

/// The name of the built-in index by namespace, as in client-go.
pub const NAMESPACE_INDEX: &str = "namespace";

/// Returns an index function for the values at a field path, read without decoding the object: see [`read_field`].
///
/// An object whose field cannot be read is stored, and is missing from the index.
///
/// ```
/// use watchkeeper_cache::Store;
/// use watchkeeper_cache::store::by_field;
/// use watchkeeper_wire::Kind;
///
/// let (store, _writer) = Store::new();
/// store.add_index("node", by_field(Kind::new("", "v1", "Pod"), "spec.nodeName".parse()?))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn by_field(kind: Kind, path: FieldPath) -> impl Fn(&Object) -> Vec<String> + Send + Sync + 'static {
    move |object| {
        let mut values = Vec::new();
        if let Err(error) =
            read_field(&object.encoded, &kind, &path, &mut |value: &str| values.push(value.to_owned()))
        {
            tracing::debug!(key = %object.metadata.key(), %path, %error, "failed to index object");
        }
        values
    }
}

/// Returns an index function for the decoded object. Every object is decoded when it is written.
///
/// An object that cannot be decoded as a `K` is stored, and is missing from the index.
pub fn by_view<K: DeserializeOwned>(
    kind: Kind,
    values: impl Fn(&K) -> Vec<String> + Send + Sync + 'static,
) -> impl Fn(&Object) -> Vec<String> + Send + Sync + 'static {
    move |object| match decode::<K>(&object.encoded, &kind) {
        Ok(view) => values(&view),
        Err(error) => {
            tracing::debug!(key = %object.metadata.key(), %error, "failed to index object");
            Vec::new()
        }
    }
}

/// An index function and its name.
pub(super) struct Index<T> {
    pub(super) name: Arc<str>,
    values: Arc<IndexFn<T>>,
}

/// Must be deterministic: an object's old values are computed again to remove them.
type IndexFn<T> = dyn Fn(&T) -> Vec<String> + Send + Sync;

impl<T> Index<T> {
    pub(super) fn new(name: &str, values: impl Fn(&T) -> Vec<String> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), values: Arc::new(values) }
    }

    pub(super) fn values(&self, object: &T) -> Vec<String> {
        (self.values)(object)
    }
}

impl<T> Clone for Index<T> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), values: self.values.clone() }
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
