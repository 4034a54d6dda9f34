//! Request errors.

use std::time::Duration;

use watchkeeper_core::{EndlessList, Status};

use super::MAX_RETRY_AFTER;
use crate::transport::{BodyError, TransportError};

/// A mistake in a request, found before it was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRequest {
    /// A part of the path was set twice.
    #[error("{part} set twice: {first:?} and {second:?}")]
    Twice {
        /// The part.
        part: &'static str,
        /// The first value.
        first: String,
        /// The second value.
        second: String,
    },
    /// A part is not allowed in a path.
    #[error("invalid {part} {value:?}: {why}")]
    Segment {
        /// The part.
        part: &'static str,
        /// The value.
        value: String,
        /// The reason.
        why: &'static str,
    },
    /// A request for a single object has an empty namespace.
    #[error("an empty namespace is not allowed for a single object")]
    EmptyNamespace,
    /// A header value contains characters not allowed in a header.
    #[error("header {name:?} contains characters not allowed in a header")]
    Header {
        /// The name of the header.
        name: String,
    },
    /// The path is invalid.
    #[error("invalid path {path:?}")]
    Path {
        /// The path.
        path: String,
    },
    /// The body could not be encoded.
    #[error("failed to encode the body: {why}")]
    Body {
        /// The reason.
        why: String,
    },
}

/// An error of a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The request is invalid and was not sent: fix the caller.
    #[error("invalid request {request}")]
    Invalid {
        /// Method and path.
        request: String,
        /// The mistake.
        source: InvalidRequest,
    },
    /// The server returned an error. The message is the server's.
    #[error("{status}")]
    Api {
        /// Method and path.
        request: String,
        /// The server's Status, or one derived from the status code.
        status: Box<Status>,
    },
    /// The server returned an error and a `Retry-After` above [`MAX_RETRY_AFTER`]: retry later.
    #[error(
        "{status}: not retried because Retry-After of {}s exceeds the limit of {}s",
        .retry_after.as_secs(), MAX_RETRY_AFTER.as_secs()
    )]
    RetryAfter {
        /// Method and path.
        request: String,
        /// The server's Status, or one derived from the status code.
        status: Box<Status>,
        /// The wait that the server requested.
        retry_after: Duration,
    },
    /// There was no response; [`TransportError::was_sent`] returns whether the request may have been processed.
    #[error("{request} failed")]
    Transport {
        /// Method and path.
        request: String,
        /// The cause.
        source: TransportError,
    },
    /// The response was cut off or too large: the request may have been processed.
    #[error("{request} failed")]
    Body {
        /// Method and path.
        request: String,
        /// The cause.
        source: BodyError,
    },
    /// The request timed out and may have been processed.
    #[error("{request}: timed out after {}s", .after.as_secs_f64())]
    TimedOut {
        /// Method and path.
        request: String,
        /// The timeout.
        after: Duration,
    },
    /// The pages of a list have no end.
    #[error("{request} failed")]
    EndlessList {
        /// Method and path, if known.
        request: String,
        /// The cause.
        source: EndlessList,
    },
    /// The response could not be decoded.
    #[error("{request}: failed to decode the response: {why}")]
    Decode {
        /// Method and path.
        request: String,
        /// The reason.
        why: String,
    },
}

impl RequestError {
    /// Returns method and path of the request.
    pub fn request(&self) -> &str {
        match self {
            Self::Invalid { request, .. }
            | Self::Api { request, .. }
            | Self::RetryAfter { request, .. }
            | Self::EndlessList { request, .. }
            | Self::Transport { request, .. }
            | Self::Body { request, .. }
            | Self::TimedOut { request, .. }
            | Self::Decode { request, .. } => request,
        }
    }

    /// Returns the server's Status, if it returned an error.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Api { status, .. } | Self::RetryAfter { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Returns whether the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// Returns whether the object already exists.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// Returns whether the object was modified since it was read.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict)
    }

    /// Returns whether the server may have processed the request although it failed: there was no complete response, or
    /// the response is a timeout (504) or a proxy's 502.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Invalid { .. } | Self::EndlessList { .. } => false,
            Self::Api { status, .. } | Self::RetryAfter { status, .. } => {
                status.is_timeout() || status.code == 502
            }
            Self::Transport { source, .. } => source.was_sent(),
            Self::Body { .. } | Self::TimedOut { .. } | Self::Decode { .. } => true,
        }
    }
}
