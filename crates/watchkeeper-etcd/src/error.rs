//! Errors of requests, by what to do next.

use watchkeeper_core::BoxError;

use crate::codec::DecodeError;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Retry later: no endpoint can be reached. Nothing was sent.
    #[error("failed to connect to any etcd endpoint")]
    Unreachable(#[source] BoxError),
    /// Retry later: the connection failed, the request timed out, or the member has no leader. A write may have been
    /// applied.
    #[error("etcd is unavailable: {message}")]
    Unavailable {
        /// Message of the server or of the transport.
        message: String,
    },
    /// Retry later: etcd is overloaded.
    #[error("etcd is overloaded: {message}")]
    Busy {
        /// Message of the server.
        message: String,
    },
    /// Name or password is wrong or missing.
    #[error("not authenticated: {message}")]
    Unauthenticated {
        /// Message of the server.
        message: String,
    },
    /// The user lacks permission.
    #[error("permission denied: {message}")]
    PermissionDenied {
        /// Message of the server.
        message: String,
    },
    /// The revision has been compacted: read the current state.
    #[error("the revision has been compacted")]
    Compacted {
        /// The first revision that is still available, if the server reports it.
        first: Option<i64>,
    },
    /// The revision does not exist yet.
    #[error("the revision is in the future")]
    FutureRevision,
    /// The lease has expired, or never existed.
    #[error("lease not found")]
    LeaseNotFound,
    /// Request less: the response exceeds the limit.
    #[error("response of {length} bytes exceeds the limit of {limit}")]
    TooLong {
        /// Size of the response, in bytes.
        length: usize,
        /// See [`Builder::max_message`](crate::Builder::max_message).
        limit: usize,
    },
    /// The response is not a valid etcd message.
    #[error("invalid response")]
    Malformed(#[from] DecodeError),
    /// The endpoint does not speak etcd's gRPC API.
    #[error("endpoint is not etcd: {0}")]
    NotEtcd(String),
    /// Any other gRPC error.
    #[error("etcd error: {message} (gRPC code {code})")]
    Rpc {
        /// gRPC status code.
        code: u32,
        /// Message of the server.
        message: String,
    },
}

impl Error {
    /// Returns whether etcd was unreachable or unavailable, so that another endpoint may serve the request.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Unavailable { .. })
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable { message: message.into() }
    }

    /// Returns whether a new token may help: the current one has expired, predates a change of the users, or is
    /// missing.
    pub(crate) fn wants_token(&self) -> bool {
        match self {
            Self::Unauthenticated { .. } => true,
            Self::Rpc { message, .. } => message.contains(OLD_AUTH),
            _ => false,
        }
    }

    /// Maps a gRPC status. The matched texts are etcd's.
    pub(crate) fn from_status(code: u32, message: String) -> Self {
        match code {
            _ if message.contains(COMPACTED) => Self::Compacted { first: None },
            _ if message.contains(FUTURE) => Self::FutureRevision,
            5 if message.contains(NO_LEASE) => Self::LeaseNotFound,
            _ if message.contains(NO_USER) => Self::Unauthenticated { message },
            7 => Self::PermissionDenied { message },
            8 => Self::Busy { message },
            1 | 4 | 14 => Self::Unavailable { message }, // cancelled, deadline exceeded, unavailable
            16 => Self::Unauthenticated { message },
            _ => Self::Rpc { code, message },
        }
    }

    /// Maps the reason of a cancelled watch, which is only a text.
    pub(crate) fn from_cancel(compact_revision: i64, reason: String) -> Self {
        match compact_revision {
            1.. => Self::Compacted { first: Some(compact_revision) },
            _ if reason.contains(BAD_TOKEN) => Self::from_status(16, reason),
            _ if reason.contains(DENIED) => Self::from_status(7, reason),
            _ if reason.contains(NO_LEADER) => Self::from_status(14, reason),
            _ => Self::from_status(2, reason),
        }
    }
}

const COMPACTED: &str = "required revision has been compacted";
const FUTURE: &str = "required revision is a future revision";
const NO_LEASE: &str = "requested lease not found";
const BAD_TOKEN: &str = "invalid auth token";
const OLD_AUTH: &str = "revision of auth store is old";
const NO_USER: &str = "user name is empty";
const DENIED: &str = "permission denied";
const NO_LEADER: &str = "no leader";
/// Credentials are ignored if etcd has authentication disabled.
pub(crate) const AUTH_NOT_ENABLED: &str = "authentication is not enabled";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_statuses_are_mapped_by_what_to_do_next() {
        let of = |code, message: &str| Error::from_status(code, format!("etcdserver: {message}"));
        assert!(matches!(of(11, &format!("mvcc: {COMPACTED}")), Error::Compacted { first: None }));
        assert!(matches!(of(11, &format!("mvcc: {FUTURE}")), Error::FutureRevision));
        assert!(matches!(of(5, NO_LEASE), Error::LeaseNotFound));
        assert!(matches!(of(5, "something else"), Error::Rpc { code: 5, .. }));
        assert!(matches!(of(7, DENIED), Error::PermissionDenied { .. }));
        assert!(matches!(of(8, "too many requests"), Error::Busy { .. }));
        for code in [1, 4, 14] {
            assert!(of(code, NO_LEADER).is_unavailable());
        }
        for (code, message) in [(16, BAD_TOKEN), (3, OLD_AUTH), (3, NO_USER)] {
            assert!(of(code, message).wants_token(), "{message}");
        }
        assert!(!of(3, "key is not provided").wants_token());
    }

    #[test]
    fn cancelled_watches_are_mapped_by_their_text() {
        let of =
            |reason: &str| Error::from_cancel(0, format!("rpc error: code = X desc = etcdserver: {reason}"));
        assert!(matches!(Error::from_cancel(7, String::new()), Error::Compacted { first: Some(7) }));
        assert!(matches!(of(COMPACTED), Error::Compacted { first: None }));
        assert!(matches!(of(DENIED), Error::PermissionDenied { .. }));
        assert!(of(NO_LEADER).is_unavailable());
        assert!(of(BAD_TOKEN).wants_token() && of(OLD_AUTH).wants_token() && of(NO_USER).wants_token());
        assert!(matches!(of("watcher ID exists"), Error::Rpc { .. }));
    }
}
