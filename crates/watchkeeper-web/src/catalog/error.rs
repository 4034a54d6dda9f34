//! Why a resource cannot be read.

use watchkeeper_client::discovery::MapError;

use super::{MAX_ON_DEMAND, PATIENCE};

/// Why a resource cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The server has none of this name.
    #[error("{0}")]
    Unknown(MapError),
    /// The server could not say what it has.
    #[error("the API server does not say what it has; it is asked again with the next request")]
    Discovery(#[source] MapError),
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
        "{MAX_ON_DEMAND} resources are cached on demand already, and none of them is idle; try again later"
    )]
    Full,
}

impl From<MapError> for CatalogError {
    fn from(error: MapError) -> Self {
        match error {
            MapError::Discovery(_) => Self::Discovery(error),
            _ => Self::Unknown(error),
        }
    }
}
