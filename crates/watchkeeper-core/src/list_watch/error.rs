//! Why a list or a watch failed, sorted by what happens next.

use std::error::Error;

use crate::Status;

/// The error of a transport, a decoder or a store, behind a [`ListError`] or a [`WatchError`].
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why a list failed.
///
/// Where a server answered with a [`Status`], convert that into the error, which sorts it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// List the most recent state; or, for a page, go on with the token that the status may have.
    #[error("the version or page has left the server's history")]
    Expired(#[source] Box<Status>),
    /// List the most recent state: this server has not yet seen what was asked for.
    #[error("the version is newer than the server has seen")]
    TooLarge(#[source] Box<Status>),
    /// List again, after the wait that the status may ask for.
    #[error("the server has too many requests")]
    TooManyRequests(#[source] Box<Status>),
    /// Nobody listens at the address: list again, later.
    #[error("the server refused the connection")]
    ConnectionRefused(#[source] BoxError),
    /// The list broke off before its end: drop what came of it and list again.
    #[error("the list broke off")]
    Interrupted(#[source] BoxError),
    /// What came is not a list of objects. Listing again may not help.
    #[error("the answer is not a list")]
    Malformed(#[source] BoxError),
    /// The server said no, for the reason that the status gives.
    #[error("the server refused the list")]
    Refused(#[source] Box<Status>),
}

/// Why a watch could not be opened, or ended before its time.
///
/// Where a server answered with a [`Status`], or sent one in an ERROR event, convert that into the
/// error, which sorts it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// List again: changes have been missed for good.
    #[error("the version has left the server's history")]
    Expired(#[source] Box<Status>),
    /// Ask for the most recent state: this server has not yet seen what was asked for.
    #[error("the version is newer than the server has seen")]
    TooLarge(#[source] Box<Status>),
    /// Watch again from the same version, after a wait.
    #[error("the server has too many requests")]
    TooManyRequests(#[source] Box<Status>),
    /// Nobody listens at the address: watch again from the same version, after a wait.
    #[error("the server refused the connection")]
    ConnectionRefused(#[source] BoxError),
    /// The stream broke: watch again from the last version that it brought.
    #[error("the watch broke off")]
    Interrupted(#[source] BoxError),
    /// What came is not a watch event: list again.
    #[error("the stream is not made of watch events")]
    Malformed(#[source] BoxError),
    /// The server is at fault: watch again while patience lasts, then list.
    #[error("the server failed")]
    Internal(#[source] Box<Status>),
    /// The server said no, for the reason that the status gives: list again.
    #[error("the server refused the watch")]
    Refused(#[source] Box<Status>),
}

impl From<Status> for ListError {
    fn from(status: Status) -> Self {
        let status = Box::new(status);
        match status {
            status if status.is_expired() => Self::Expired(status),
            status if status.is_too_large_resource_version() => Self::TooLarge(status),
            status if status.is_too_many_requests() => Self::TooManyRequests(status),
            status => Self::Refused(status),
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
            status => Self::Refused(status),
        }
    }
}

macro_rules! status_of {
    ($error:ident: $($variant:ident),+) => {
        impl $error {
            /// What the server said, where it said something.
            pub fn status(&self) -> Option<&Status> {
                match self {
                    $(Self::$variant(status))|+ => Some(status),
                    Self::ConnectionRefused(_) | Self::Interrupted(_) | Self::Malformed(_) => None,
                }
            }
        }
    };
}

status_of!(ListError: Expired, TooLarge, TooManyRequests, Refused);
status_of!(WatchError: Expired, TooLarge, TooManyRequests, Internal, Refused);
