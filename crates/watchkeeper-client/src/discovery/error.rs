//! Discovery errors.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use watchkeeper_core::{ErrorChain, GroupVersion};

use crate::rest::RequestError;
use crate::transport::BodyError;

/// An error of discovery. Clones share the cause, so that caches can keep it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// The request failed, or the response is not a discovery document.
    #[error(transparent)]
    Request(#[from] Arc<RequestError>),
    /// The aggregator has a group version in its cache but cannot reach the server behind it.
    #[error("stale GroupVersion discovery: {0}")]
    Stale(GroupVersion),
    /// The server does not serve the group version.
    #[error("the server does not serve {0}")]
    Unknown(GroupVersion),
}

impl DiscoveryError {
    /// Returns whether a retry may succeed: the server was unreachable or overloaded, or failed.
    pub fn is_transient(&self) -> bool {
        let Self::Request(error) = self else { return false };
        match &**error {
            RequestError::Body { source: BodyError::TooLarge { .. }, .. } => false,
            RequestError::Transport { .. } | RequestError::Body { .. } | RequestError::TimedOut { .. } => {
                true
            }
            RequestError::Api { status, .. } | RequestError::RetryAfter { status, .. } => {
                status.code >= 500 || status.code == 429
            }
            _ => false,
        }
    }

    /// Returns whether the server responded that the resource does not exist.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Request(error) => error.is_not_found(),
            Self::Unknown(_) => true,
            Self::Stale(_) => false,
        }
    }
}

impl From<RequestError> for DiscoveryError {
    fn from(error: RequestError) -> Self {
        Self::Request(Arc::new(error))
    }
}

/// Discovery failed for some group versions. (client-go: `ErrGroupDiscoveryFailed`.)
#[derive(Debug, Clone)]
pub struct PartialDiscovery {
    /// The group versions that failed, with their errors.
    pub failures: BTreeMap<GroupVersion, DiscoveryError>,
}

/// Prints client-go's text.
impl fmt::Display for PartialDiscovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut failures: Vec<String> = self
            .failures
            .iter()
            .map(|(version, error)| format!("{version}: {}", ErrorChain(error)))
            .collect();
        failures.sort();
        write!(f, "unable to retrieve the complete list of server APIs: {}", failures.join(", "))
    }
}

impl std::error::Error for PartialDiscovery {}
