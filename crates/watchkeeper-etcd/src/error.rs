//! Errors: why etcd did not do what it was asked, sorted by what to do next.

use watchkeeper_core::BoxError;

use crate::codec::Malformed;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Ask again, later: nobody answers at any endpoint. Nothing was sent.
    #[error("no endpoint of etcd can be reached")]
    Unreachable(#[source] BoxError),
    /// Ask again, later: the connection broke, the time was up, or the member has no leader. What was to be
    /// written may have been.
    #[error("etcd is unavailable: {message}")]
    Unavailable {
        /// What the server or the transport said.
        message: String,
    },
    /// Ask again, later: it has too much to do.
    #[error("etcd has too many requests: {message}")]
    Busy {
        /// What the server said.
        message: String,
    },
    /// Name and password are wrong or missing.
    #[error("etcd does not know who asks: {message}")]
    Unauthenticated {
        /// What the server said.
        message: String,
    },
    /// The user may not do this.
    #[error("etcd does not allow it: {message}")]
    Denied {
        /// What the server said.
        message: String,
    },
    /// The revision has left the history: read the newest state.
    #[error("the revision has been compacted")]
    Compacted {
        /// The first revision that is still known, where the server tells.
        first: Option<i64>,
    },
    /// No such revision has been yet.
    #[error("the revision is newer than etcd has seen")]
    FutureRevision,
    /// The lease is over, or never was.
    #[error("there is no such lease")]
    LeaseNotFound,
    /// Ask for less: the answer is longer than the limit.
    #[error("an answer of {length} bytes is longer than the limit of {limit}")]
    TooLong {
        /// How long the answer is.
        length: usize,
        /// See [`Builder::max_message`](crate::Builder::max_message).
        limit: usize,
    },
    /// What came is not one of etcd's messages.
    #[error("what came is not a message of etcd's")]
    Malformed(#[from] Malformed),
    /// What answers at the endpoint does not speak gRPC.
    #[error("this is no etcd: {0}")]
    NotEtcd(String),
    /// Anything else that the server says.
    #[error("etcd refuses: {message} (code {code})")]
    Refused {
        /// gRPC's number.
        code: u32,
        /// What the server said.
        message: String,
    },
}

impl Error {
    /// Whether the same request may succeed at another endpoint, or later.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Unavailable { .. })
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable { message: message.into() }
    }

    /// Whether a new token may help: this one is over, or was for users as they were, or there was none.
    pub(crate) fn wants_token(&self) -> bool {
        match self {
            Self::Unauthenticated { .. } => true,
            Self::Refused { message, .. } => message.contains(OLD_AUTH),
            _ => false,
        }
    }

    /// Sorts what a server said. The words are etcd's.
    pub(crate) fn from_status(code: u32, message: String) -> Self {
        match code {
            _ if message.contains(COMPACTED) => Self::Compacted { first: None },
            _ if message.contains(FUTURE) => Self::FutureRevision,
            5 if message.contains(NO_LEASE) => Self::LeaseNotFound,
            _ if message.contains(NO_USER) => Self::Unauthenticated { message },
            7 => Self::Denied { message },
            8 => Self::Busy { message },
            1 | 4 | 14 => Self::Unavailable { message }, // cancelled, too late, unavailable
            16 => Self::Unauthenticated { message },
            _ => Self::Refused { code, message },
        }
    }

    /// Sorts why a watch was cancelled, of which there is only a text.
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
/// Whoever has a name and a password may use an etcd that asks for none.
pub(crate) const AUTH_NOT_ENABLED: &str = "authentication is not enabled";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_etcd_says_is_sorted_by_what_to_do_next() {
        let of = |code, message: &str| Error::from_status(code, format!("etcdserver: {message}"));
        assert!(matches!(of(11, &format!("mvcc: {COMPACTED}")), Error::Compacted { first: None }));
        assert!(matches!(of(11, &format!("mvcc: {FUTURE}")), Error::FutureRevision));
        assert!(matches!(of(5, NO_LEASE), Error::LeaseNotFound));
        assert!(matches!(of(5, "something else"), Error::Refused { code: 5, .. }));
        assert!(matches!(of(7, DENIED), Error::Denied { .. }));
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
    fn a_cancelled_watch_is_sorted_by_its_words() {
        let of =
            |reason: &str| Error::from_cancel(0, format!("rpc error: code = X desc = etcdserver: {reason}"));
        assert!(matches!(Error::from_cancel(7, String::new()), Error::Compacted { first: Some(7) }));
        assert!(matches!(of(COMPACTED), Error::Compacted { first: None }));
        assert!(matches!(of(DENIED), Error::Denied { .. }));
        assert!(of(NO_LEADER).is_unavailable());
        assert!(of(BAD_TOKEN).wants_token() && of(OLD_AUTH).wants_token() && of(NO_USER).wants_token());
        assert!(matches!(of("watcher ID exists"), Error::Refused { .. }));
    }
}
