//! The error for unknown resources.

use watchkeeper_core::GroupVersionResource;

/// An error: the requested resource is not built in, or cannot be watched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("built-in resource {resource} not found, or it cannot be watched")]
pub struct UnknownResource {
    /// The requested resource.
    pub resource: GroupVersionResource,
}
