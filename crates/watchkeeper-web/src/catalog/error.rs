//! Errors of the catalog.

use std::fmt;

use watchkeeper_client::discovery::MapError;

use super::{FIRST_LIST_TIMEOUT, MAX_ON_DEMAND};

/// An error of the catalog.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The server does not have this resource.
    #[error("resource {asked} not found{}", meant(near))]
    Unknown {
        /// The requested resource: `pod/core/v1`.
        asked: String,
        /// Similar resources, in the same format.
        near: Vec<String>,
    },
    /// The resource does not support list and watch, and cannot be cached.
    #[error("{resource} cannot be listed and watched")]
    Unlistable {
        /// The resource.
        resource: String,
    },
    /// Discovery failed.
    #[error("discovery failed; retrying with the next request")]
    Discovery(#[from] MapError),
    /// Caching this resource is disabled.
    #[error("{resource} are not cached; start the service with --cache-secrets to read them")]
    Withheld {
        /// The resource.
        resource: String,
    },
    /// The first list is not complete yet; it continues.
    #[error("first list of {resource} not complete after {} s; it continues, try again", FIRST_LIST_TIMEOUT.as_secs())]
    NotReady {
        /// The resource.
        resource: String,
    },
    /// The limit of on-demand informers is reached.
    #[error("{MAX_ON_DEMAND} on-demand resources are already in use; try again later")]
    Full,
}

/// Formats suggestions: `; did you mean a, b or c?`.
fn meant(near: &[String]) -> impl fmt::Display {
    match near {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [first @ .., last] => format!("; did you mean {} or {last}?", first.join(", ")),
    }
}
