//! Listed: a decoded list, with the objects that failed to decode.

use std::sync::Arc;

use watchkeeper_core::{ObjectKey, ResourceVersion};
use watchkeeper_wire::DecodeError;

/// An object that cannot be decoded as the requested type.
#[derive(Debug, thiserror::Error)]
#[error("failed to decode {key} at resource version {version}")]
pub struct Undecodable {
    /// The key of the object.
    pub key: ObjectKey,
    /// The resource version of the object.
    pub version: ResourceVersion,
    /// The decode error.
    #[source]
    pub source: DecodeError,
}

/// Some objects of a list cannot be decoded as the requested type.
#[derive(Debug, thiserror::Error)]
#[error("failed to decode {count} of {total} objects")]
#[non_exhaustive]
pub struct ListUndecodable {
    /// Number of objects that cannot be decoded.
    pub count: usize,
    /// Number of objects in the list.
    pub total: usize,
    /// The first error.
    #[source]
    pub first: Undecodable,
}

/// The result of a list: decoded objects, and the errors of those that cannot be decoded.
///
/// [`items`](Self::items) fails if an object cannot be decoded; [`partial`](Self::partial) returns the others and the
/// errors.
///
/// ```
/// # use serde::Deserialize;
/// # use watchkeeper_cache::{Keep, Reader, Store};
/// # #[derive(Deserialize)] struct Pod {}
/// # fn example(pods: &Reader<Pod>) -> Result<(), Box<dyn std::error::Error>> {
/// for pod in pods.list(&"app=web".parse()?).items()? {
///     // ...
/// }
/// let (some, errors) = pods.list(&Default::default()).partial();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use]
pub struct Listed<K> {
    items: Vec<Arc<K>>,
    undecodable: Vec<Undecodable>,
    version: ResourceVersion,
}

impl<K> Listed<K> {
    pub(super) fn new(
        decoded: impl Iterator<Item = Result<Arc<K>, Undecodable>>,
        version: ResourceVersion,
    ) -> Self {
        let (mut items, mut undecodable) = (Vec::new(), Vec::new());
        for outcome in decoded {
            match outcome {
                Ok(item) => items.push(item),
                Err(error) => undecodable.push(error),
            }
        }
        Self { items, undecodable, version }
    }

    /// Returns the objects, ordered by namespace and name.
    ///
    /// # Errors
    /// If an object cannot be decoded.
    pub fn items(mut self) -> Result<Vec<Arc<K>>, ListUndecodable> {
        let (count, total) = (self.undecodable.len(), self.items.len() + self.undecodable.len());
        match self.undecodable.drain(..).next() {
            None => Ok(self.items),
            Some(first) => Err(ListUndecodable { count, total, first }),
        }
    }

    /// Returns the objects that can be decoded, ordered by namespace and name, and an error for each of the others.
    pub fn partial(self) -> (Vec<Arc<K>>, Vec<Undecodable>) {
        (self.items, self.undecodable)
    }

    /// Returns the resource version of the list.
    pub fn version(&self) -> &ResourceVersion {
        &self.version
    }
}
