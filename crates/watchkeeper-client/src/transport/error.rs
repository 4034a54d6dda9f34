//! Transport errors.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::auth::AuthError;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// An error building a transport from a config.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The user agent contains characters not allowed in a header.
    #[error("user agent contains characters not allowed in a header")]
    UserAgent,
    /// A user, group or attribute to impersonate contains characters not allowed in a header.
    #[error("impersonation values contain characters not allowed in a header")]
    Impersonation,
    /// The TLS server name is invalid.
    #[error("invalid TLS server name {0:?}")]
    ServerName(String),
    /// The configured credentials are invalid.
    #[error(transparent)]
    Credentials(#[from] AuthError),
}

/// An error connecting to the server. No request was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The TCP connection failed.
    #[error("failed to connect to {address}")]
    Unreachable {
        /// The server.
        address: String,
        /// The cause.
        source: Source,
    },
    /// The connection was not established in time.
    #[error("connecting to {address} timed out after {}s", .after.as_secs_f64())]
    TimedOut {
        /// The server.
        address: String,
        /// The timeout.
        after: Duration,
    },
    /// The proxy could not be reached, or rejected the connection.
    #[error("failed to connect to {address} through proxy {proxy}")]
    Proxy {
        /// The server.
        address: String,
        /// The proxy, without credentials.
        proxy: String,
        /// The cause.
        source: Source,
    },
    /// The TLS handshake failed: the server, or the client, could not be verified.
    #[error("TLS handshake with {address} failed")]
    Tls {
        /// The server.
        address: String,
        /// The cause.
        source: io::Error,
    },
    /// Certificates or keys are missing or invalid.
    #[error("{what}")]
    Certificates {
        /// The problem.
        what: String,
    },
    /// Credentials are not available.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The HTTP handshake failed.
    #[error("HTTP handshake with {address} failed")]
    Handshake {
        /// The server.
        address: String,
        /// The cause.
        source: hyper::Error,
    },
}

/// An error sending a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// No connection could be established: the request was not sent.
    #[error(transparent)]
    Connect(Arc<ConnectError>),
    /// Credentials are not available: the request was not sent.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The connection was lost: the request may have been processed.
    #[error("connection lost before the response")]
    Lost {
        /// The cause.
        source: hyper::Error,
    },
    /// No connection accepted the request, or the server rejected it unprocessed (GOAWAY, REFUSED_STREAM): it can be
    /// retried safely.
    #[error("request was not processed by the server")]
    Unprocessed {
        /// The cause.
        source: hyper::Error,
    },
    /// The response is not valid HTTP: the request may have been processed.
    #[error("invalid HTTP response")]
    Malformed {
        /// The cause.
        source: hyper::Error,
    },
    /// The request URI is invalid.
    #[error("invalid request URI")]
    Uri,
}

impl TransportError {
    /// Classifies the error of a request that was handed to a connection.
    pub(super) fn lost(source: hyper::Error) -> Self {
        if is_malformed(&source) { Self::Malformed { source } } else { Self::Lost { source } }
    }

    /// Returns whether the server may have processed the request.
    pub fn was_sent(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Malformed { .. })
    }

    /// Returns whether the connection was lost after the request was sent.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Returns whether the connection was refused (`ECONNREFUSED`).
    pub fn is_connection_refused(&self) -> bool {
        self.connect_has(io::ErrorKind::ConnectionRefused)
    }

    /// Returns whether connecting timed out.
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

/// Returns whether the server will never process the request: its stream is above the last one of a GOAWAY, or was
/// reset with REFUSED_STREAM.
pub(super) fn is_unprocessed(error: &hyper::Error) -> bool {
    let is_rejection = |error: &h2::Error| {
        error.is_remote()
            && (error.is_go_away()
                || (error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM)))
    };
    causes(error).any(|cause| cause.downcast_ref().is_some_and(is_rejection))
}

fn is_malformed(error: &hyper::Error) -> bool {
    error.is_parse() || causes(error).any(|cause| cause.downcast_ref().is_some_and(h2::Error::is_library))
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}
