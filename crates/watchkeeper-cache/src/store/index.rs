//! Index: by what objects are found.

use std::fmt;
use std::sync::Arc;

use watchkeeper_core::Object;

/// What says by which values an object is found.
///
/// It is asked once for each state of an object, by the one task that writes; the same state must always give
/// the same values.
pub trait IndexBy: Send + Sync {
    /// Hands over the values of an object: none, one or several.
    fn values(&self, object: &Object, found: &mut dyn FnMut(&str));
}

/// A function that returns the values.
impl<F: Fn(&Object) -> Vec<String> + Send + Sync> IndexBy for F {
    fn values(&self, object: &Object, found: &mut dyn FnMut(&str)) {
        for value in self(object) {
            found(&value);
        }
    }
}

/// A way to find objects, and its name.
#[derive(Clone)]
pub(crate) struct Index {
    pub(crate) name: Arc<str>,
    pub(crate) by: Arc<dyn IndexBy>,
}

impl fmt::Debug for Index {
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
