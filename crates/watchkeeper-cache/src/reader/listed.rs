//! Listed: the objects of a list as a type, and those that are not of that type.

use std::sync::Arc;

use watchkeeper_core::{ObjectKey, ResourceVersion};
use watchkeeper_wire::DecodeError;

/// An object cannot be decoded as the type that was asked for.
#[derive(Debug, thiserror::Error)]
#[error("{key} in version {version} cannot be decoded")]
pub struct Undecodable {
    /// The key of the object.
    pub key: ObjectKey,
    /// The version of the object.
    pub version: ResourceVersion,
    /// Why not.
    #[source]
    pub source: DecodeError,
}

/// Some objects of a list cannot be decoded as the type that was asked for.
#[derive(Debug, thiserror::Error)]
#[error("{count} of {total} objects cannot be decoded")]
#[non_exhaustive]
pub struct ListUndecodable {
    /// How many cannot be decoded.
    pub count: usize,
    /// How many objects the list has.
    pub total: usize,
    /// The first of them.
    #[source]
    pub first: Undecodable,
}

/// The objects of a list at one moment.
///
/// [`items`](Self::items) is an error if one of them cannot be decoded; [`partial`](Self::partial) returns what can be
/// decoded, and the errors beside it.
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

    /// Returns the objects, by namespace and name.
    ///
    /// # Errors
    /// If one of them cannot be decoded.
    pub fn items(mut self) -> Result<Vec<Arc<K>>, ListUndecodable> {
        let (count, total) = (self.undecodable.len(), self.items.len() + self.undecodable.len());
        match self.undecodable.drain(..).next() {
            None => Ok(self.items),
            Some(first) => Err(ListUndecodable { count, total, first }),
        }
    }

    /// Returns the objects that can be decoded, by namespace and name, and an error for each of the others.
    pub fn partial(self) -> (Vec<Arc<K>>, Vec<Undecodable>) {
        (self.items, self.undecodable)
    }

    /// The version of the whole list.
    pub fn version(&self) -> &ResourceVersion {
        &self.version
    }
}
