//! Errors of lists and watches, classified by what the reflector does next.

use std::error::Error;

use crate::Status;

/// The source of a [`ListError`] or [`WatchError`]: an error of a transport, a decoder or a store.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// An error of a list.
///
/// Converting a [`Status`] selects the variant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The version or page expired: list the most recent state, or continue with the token in the status.
    #[error("resource version or continue token expired")]
    Expired(#[source] Box<Status>),
    /// The server has not yet observed the requested version: list the most recent state.
    #[error("resource version is newer than the server's")]
    TooLarge(#[source] Box<Status>),
    /// List again, after the delay that the status may request.
    #[error("too many requests")]
    TooManyRequests(#[source] Box<Status>),
    /// Nothing listens at the address: list again later.
    #[error("connection refused")]
    ConnectionRefused(#[source] BoxError),
    /// The list was truncated: discard its items and list again.
    #[error("list interrupted")]
    Interrupted(#[source] BoxError),
    /// The response is not a list of objects. Listing again may not help.
    #[error("invalid list response")]
    Malformed(#[source] BoxError),
    /// The server rejected the request for the reason in the status.
    #[error("list rejected by the server")]
    Rejected(#[source] Box<Status>),
}

/// An error of a watch, from opening it or while it runs.
///
/// Converting a [`Status`], of a response or an ERROR event, selects the variant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The version expired, so changes were missed: list again.
    #[error("resource version expired")]
    Expired(#[source] Box<Status>),
    /// The server has not yet observed the requested version: request the most recent state.
    #[error("resource version is newer than the server's")]
    TooLarge(#[source] Box<Status>),
    /// Watch again from the same version, after a delay.
    #[error("too many requests")]
    TooManyRequests(#[source] Box<Status>),
    /// Nothing listens at the address: watch again from the same version, after a delay.
    #[error("connection refused")]
    ConnectionRefused(#[source] BoxError),
    /// The stream broke: watch again from the last received version.
    #[error("watch interrupted")]
    Interrupted(#[source] BoxError),
    /// The stream is invalid: list again.
    #[error("invalid watch stream")]
    Malformed(#[source] BoxError),
    /// Internal server error: watch again for a limited time, then list.
    #[error("internal server error")]
    Internal(#[source] Box<Status>),
    /// The server rejected the request for the reason in the status: list again.
    #[error("watch rejected by the server")]
    Rejected(#[source] Box<Status>),
}

impl From<Status> for ListError {
    fn from(status: Status) -> Self {
        let status = Box::new(status);
        match status {
            status if status.is_expired() => Self::Expired(status),
            status if status.is_too_large_resource_version() => Self::TooLarge(status),
            status if status.is_too_many_requests() => Self::TooManyRequests(status),
            status => Self::Rejected(status),
        }
    }
}

impl From<Status> for WatchError {
    fn from(status: Status) -> Self {
        let status = Box::new(status);
        match status {
            status if status.is_expired() => Self::Expired(status),
            status if status.is_too_large_resource_version() => Self::TooLarge(status),
            status if status.is_too_many_requests() => Self::TooManyRequests(status),
            status if status.is_internal_error() => Self::Internal(status),
            status => Self::Rejected(status),
        }
    }
}

macro_rules! status_of {
    ($error:ident: $($variant:ident),+) => {
        impl $error {
            /// Returns the server's status, if the error has one.
            pub fn status(&self) -> Option<&Status> {
                match self {
                    $(Self::$variant(status))|+ => Some(status),
                    Self::ConnectionRefused(_) | Self::Interrupted(_) | Self::Malformed(_) => None,
                }
            }
        }
    };
}

status_of!(ListError: Expired, TooLarge, TooManyRequests, Rejected);
status_of!(WatchError: Expired, TooLarge, TooManyRequests, Internal, Rejected);
