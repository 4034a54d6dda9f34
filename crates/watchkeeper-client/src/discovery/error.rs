//! What can become of discovery besides an answer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use watchkeeper_core::GroupVersion;

use crate::rest::RequestError;
use crate::transport::BodyError;

/// Why something was not discovered. Clones share the cause, so that caches can keep it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// The server did not answer, or not with what was asked for.
    #[error(transparent)]
    Request(#[from] Arc<RequestError>),
    /// The server remembers a group version that it could not ask for just now: whoever serves it is away.
    #[error("stale GroupVersion discovery: {0}")]
    Stale(GroupVersion),
    /// The server has no such group version.
    #[error("the server does not serve {0}")]
    Unknown(GroupVersion),
}

impl DiscoveryError {
    /// Whether the next attempt may go better: the server could not be reached, or was in trouble.
    pub fn is_transient(&self) -> bool {
        let Self::Request(error) = self else { return false };
        match &**error {
            RequestError::Body { source: BodyError::TooLarge { .. }, .. } => false,
            RequestError::Transport { .. } | RequestError::Body { .. } | RequestError::TimedOut { .. } => {
                true
            }
            RequestError::Refused { status, .. } | RequestError::RetryAfter { status, .. } => {
                status.code >= 500 || status.code == 429
            }
            _ => false,
        }
    }

    /// Whether the server says that there is nothing.
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

/// Some group versions could not be discovered; the others were.
#[derive(Debug, Clone)]
pub struct PartialDiscovery {
    /// Those that could not, and why.
    pub failures: BTreeMap<GroupVersion, DiscoveryError>,
}

/// The text that client-go has for it.
impl fmt::Display for PartialDiscovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut failures: Vec<String> =
            self.failures.iter().map(|(version, error)| format!("{version}: {error}")).collect();
        failures.sort();
        write!(f, "unable to retrieve the complete list of server APIs: {}", failures.join(", "))
    }
}

impl std::error::Error for PartialDiscovery {}
