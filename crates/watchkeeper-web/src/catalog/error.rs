//! Why a resource cannot be read.

use std::fmt;

use watchkeeper_client::discovery::MapError;

use super::{MAX_ON_DEMAND, PATIENCE};

/// Why a resource cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The server has none of this name.
    #[error("there is no resource {asked}{}", meant(near))]
    Unknown {
        /// What was asked for: `pod/core/v1`.
        asked: String,
        /// What may have been meant, in the same form.
        near: Vec<String>,
    },
    /// The server has it, but nothing that could be cached.
    #[error("{resource} cannot be listed and watched")]
    Unlistable {
        /// Which.
        resource: String,
    },
    /// The server could not say what it has.
    #[error("the API server does not say what it has; it is asked again with the next request")]
    Discovery(#[from] MapError),
    /// It is not cached on purpose.
    #[error("{resource} are not cached: start the service with --cache-secrets to read them here")]
    Withheld {
        /// Which.
        resource: String,
    },
    /// Its first list takes long. It goes on.
    #[error("{resource} is not synced after {} s; its first list goes on, try again", PATIENCE.as_secs())]
    NotSynced {
        /// Which.
        resource: String,
    },
    /// There are too many already.
    #[error(
        "{MAX_ON_DEMAND} resources are cached on demand already, and all of them are in use; try again later"
    )]
    Full,
}

/// `; did you mean a, b or c?`, if there is anything.
fn meant(near: &[String]) -> impl fmt::Display {
    match near {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [first @ .., last] => format!("; did you mean {} or {last}?", first.join(", ")),
    }
}
