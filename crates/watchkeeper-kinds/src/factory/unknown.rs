//! Resources that are not built in.

use watchkeeper_core::GroupVersionResource;

/// No built-in resource that can be watched has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no built-in resource that can be watched is called {resource}")]
pub struct UnknownResource {
    /// What was asked for.
    pub resource: GroupVersionResource,
}
