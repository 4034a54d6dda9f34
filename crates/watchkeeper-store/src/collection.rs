//! Storage names of resources.

use std::fmt;
use std::sync::Arc;

/// The storage name of a resource: `pods`, `apps/deployments`. All versions of a resource share one.
///
/// Cloning is cheap. A store keeps a little for every collection it was ever asked about, so that
/// names come from the registry of resources and never straight from a request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collection(Arc<str>);

impl Collection {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Collection {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
