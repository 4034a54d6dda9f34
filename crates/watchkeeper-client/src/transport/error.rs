//! Why there was no answer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::auth::AuthError;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a transport cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The user agent has characters that no header can have.
    #[error("the user agent has characters that no header can have")]
    UserAgent,
    /// A name, group or attribute to act as has characters that no header can have.
    #[error("whom to act as has characters that no header can have")]
    Impersonation,
    /// The TLS server name is none.
    #[error("the TLS server name {0:?} is no name")]
    ServerName(String),
    /// The credentials that are configured make no sense.
    #[error(transparent)]
    Credentials(#[from] AuthError),
}

/// Why there is no connection. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Nobody is there, or nobody answers.
    #[error("cannot connect to {address}")]
    Unreachable {
        /// Whom we tried to reach.
        address: String,
        /// Why not.
        source: Source,
    },
    /// Nobody answered in time.
    #[error("cannot connect to {address}: no answer within {} s", .after.as_secs_f64())]
    TimedOut {
        /// Whom we tried to reach.
        address: String,
        /// How long we tried.
        after: Duration,
    },
    /// The proxy would not let us through.
    #[error("the proxy {proxy} does not let us through to {address}")]
    Proxy {
        /// Whom we tried to reach.
        address: String,
        /// The proxy, without credentials.
        proxy: String,
        /// What it said.
        source: Source,
    },
    /// The server, or we, could not be verified.
    #[error("TLS with {address}: {source}")]
    Tls {
        /// The server.
        address: String,
        /// What is wrong.
        source: io::Error,
    },
    /// Certificates or keys cannot be read.
    #[error("{what}")]
    Certificates {
        /// Which, and why.
        what: String,
    },
    /// There are no credentials.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// HTTP did not begin.
    #[error("HTTP with {address}")]
    Handshake {
        /// The server.
        address: String,
        /// Why not.
        source: hyper::Error,
    },
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// There is no connection: nothing was sent.
    #[error(transparent)]
    Connect(Arc<ConnectError>),
    /// There are no credentials: nothing was sent.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The connection was lost: the request may have been done, or not.
    #[error("the connection was lost before the answer came")]
    Lost {
        /// How.
        source: hyper::Error,
    },
    /// The request cannot be sent to this server.
    #[error("the URI of the request is none")]
    Uri,
}

impl TransportError {
    pub(super) fn lost(source: hyper::Error) -> Self {
        Self::Lost { source }
    }

    /// Whether the server may have got the request.
    pub fn was_sent(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Whether nobody listens there.
    pub fn is_refused(&self) -> bool {
        let Self::Connect(error) = self else { return false };
        let ConnectError::Unreachable { source, .. } = &**error else { return false };
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&**source);
        while let Some(error) = cause {
            if error
                .downcast_ref::<io::Error>()
                .is_some_and(|it| it.kind() == io::ErrorKind::ConnectionRefused)
            {
                return true;
            }
            cause = error.source();
        }
        false
    }
}
