//! What can become of a request besides an answer.

use std::time::Duration;

use watchkeeper_core::{EndlessList, Status};

use super::MAX_RETRY_AFTER;
use crate::transport::{BodyError, TransportError};

/// What is wrong with a request that was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRequest {
    /// A part of the path was given twice.
    #[error("{part} is given twice: {first:?} and {second:?}")]
    Twice {
        /// Which part.
        part: &'static str,
        /// What it was.
        first: String,
        /// What it would be.
        second: String,
    },
    /// A part of the path would lead elsewhere.
    #[error("{part} {value:?} {why}")]
    Segment {
        /// Which part.
        part: &'static str,
        /// What it is.
        value: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// An object cannot be created, read or written without its namespace.
    #[error("the namespace is empty: one is needed for a single object")]
    EmptyNamespace,
    /// A header that cannot be sent.
    #[error("header {name:?} has characters that no header can have")]
    Header {
        /// Its name.
        name: String,
    },
    /// A path that is none.
    #[error("path {path:?} is none")]
    Path {
        /// The path.
        path: String,
    },
    /// The body could not be written.
    #[error("the body cannot be encoded: {why}")]
    Body {
        /// Why.
        why: String,
    },
}

/// Why a request has failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// It makes no sense: nothing was sent. Mend the caller.
    #[error("{request}: {source}")]
    Invalid {
        /// Method and path.
        request: String,
        /// What is wrong with it.
        source: InvalidRequest,
    },
    /// The server has refused it. The message is the server's.
    #[error("{status}")]
    Refused {
        /// Method and path.
        request: String,
        /// What the server said, or what its code means.
        status: Box<Status>,
    },
    /// The server has refused it for now, and asks for a longer wait than [`MAX_RETRY_AFTER`]: try again later.
    #[error(
        "{status}: not retried: Retry-After is {} s, and the limit is {} s",
        .retry_after.as_secs(), MAX_RETRY_AFTER.as_secs()
    )]
    RetryAfter {
        /// Method and path.
        request: String,
        /// What the server said, or what its code means.
        status: Box<Status>,
        /// The wait that the server asks for.
        retry_after: Duration,
    },
    /// There was no answer: see [`TransportError::was_sent`] for whether it may have been done.
    #[error("{request}: {source}")]
    Transport {
        /// Method and path.
        request: String,
        /// Why not.
        source: TransportError,
    },
    /// The answer broke off, or is too large: it may have been done.
    #[error("{request}: {source}")]
    Body {
        /// Method and path.
        request: String,
        /// How.
        source: BodyError,
    },
    /// It took too long: it may have been done.
    #[error("{request}: no answer within {} s", .after.as_secs_f64())]
    TimedOut {
        /// Method and path.
        request: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// The pages of a list do not end.
    #[error("{request}: {source}")]
    EndlessList {
        /// Method and path, where they are known.
        request: String,
        /// How that was found out.
        source: EndlessList,
    },
    /// The answer is not what was asked for.
    #[error("{request}: the answer cannot be decoded: {why}")]
    Decode {
        /// Method and path.
        request: String,
        /// What is wrong with it.
        why: String,
    },
}

impl RequestError {
    /// Method and path of the request.
    pub fn request(&self) -> &str {
        match self {
            Self::Invalid { request, .. }
            | Self::Refused { request, .. }
            | Self::RetryAfter { request, .. }
            | Self::EndlessList { request, .. }
            | Self::Transport { request, .. }
            | Self::Body { request, .. }
            | Self::TimedOut { request, .. }
            | Self::Decode { request, .. } => request,
        }
    }

    /// What the server said, where it said something.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Refused { status, .. } | Self::RetryAfter { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Whether there is no such object.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// Whether there is such an object already.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// Whether the object has changed meanwhile.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict)
    }

    /// Whether the server may have done what was asked.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Invalid { .. }
            | Self::Refused { .. }
            | Self::RetryAfter { .. }
            | Self::EndlessList { .. } => false,
            Self::Transport { source, .. } => source.was_sent(),
            Self::Body { .. } | Self::TimedOut { .. } | Self::Decode { .. } => true,
        }
    }
}
