//! Identifiers of collections.

use std::fmt;
use std::sync::Arc;

/// The storage name of a resource: `pods`, `apps/deployments`. All versions of a resource share one.
///
/// Cloning is cheap. A store allocates memory for every name that it is asked about, so names must come from the registry
/// of resources and never directly from a request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectionId(Arc<str>);

impl CollectionId {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for CollectionId {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for CollectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CollectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
