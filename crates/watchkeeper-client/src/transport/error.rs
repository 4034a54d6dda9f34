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
    /// No connection has taken the request, or the server has said that it did not look at it: nothing was
    /// done.
    #[error("the server has not looked at the request")]
    Unprocessed {
        /// Why not.
        source: hyper::Error,
    },
    /// What came is no answer of HTTP: the request may have been done, or not.
    #[error("the answer is no HTTP")]
    Malformed {
        /// What is wrong with it.
        source: hyper::Error,
    },
    /// The request cannot be sent to this server.
    #[error("the URI of the request is none")]
    Uri,
}

impl TransportError {
    /// What became of a request that was given to a connection.
    pub(super) fn lost(source: hyper::Error) -> Self {
        match is_malformed(&source) {
            true => Self::Malformed { source },
            false => Self::Lost { source },
        }
    }

    /// Whether the server may have got the request.
    pub fn was_sent(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Malformed { .. })
    }

    /// Whether the connection was lost on which the request was sent.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Whether nobody listens there.
    pub fn is_refused(&self) -> bool {
        self.connect_has(io::ErrorKind::ConnectionRefused)
    }

    /// Whether no connection was made in time.
    pub fn is_connect_timeout(&self) -> bool {
        let timed_out = |error: &Arc<ConnectError>| matches!(**error, ConnectError::TimedOut { .. });
        matches!(self, Self::Connect(error) if timed_out(error)) || self.connect_has(io::ErrorKind::TimedOut)
    }

    fn connect_has(&self, kind: io::ErrorKind) -> bool {
        let Self::Connect(error) = self else { return false };
        let ConnectError::Unreachable { source, .. } = &**error else { return false };
        causes(&**source).any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|it| it.kind() == kind))
    }
}

/// Whether the server has said of a request that it did not look at it, nor ever will: it came after the
/// last one before a GOAWAY, or was refused.
pub(super) fn is_unprocessed(error: &hyper::Error) -> bool {
    let says_so = |error: &h2::Error| {
        error.is_remote()
            && (error.is_go_away()
                || (error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM)))
    };
    causes(error).any(|cause| cause.downcast_ref().is_some_and(says_so))
}

fn is_malformed(error: &hyper::Error) -> bool {
    error.is_parse() || causes(error).any(|cause| cause.downcast_ref().is_some_and(h2::Error::is_library))
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}
