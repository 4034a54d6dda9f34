//! Relist: the reasons for fetching the whole state again.

use watchkeeper_core::{ListError, WatchError};

/// Why a reflector fetches the whole state again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Relist {
    /// The server has compacted the resource version.
    Expired,
    /// The server has not reached the resource version yet.
    TooLarge,
    /// A watch ended within a second without an event.
    ShortWatch,
    /// A watch could not be opened.
    WatchRefused,
    /// A watch ended with an error.
    WatchFailed,
    /// A list failed.
    ListFailed,
    /// The server's response is malformed.
    Malformed,
    /// The collection was removed from the server.
    Gone,
    /// The server does not support initial events (`sendInitialEvents`), or they were interrupted.
    InitialEvents,
}

impl Relist {
    pub(super) fn after_list(error: &ListError) -> Self {
        match error {
            ListError::Expired(_) => Self::Expired,
            ListError::TooLarge(_) => Self::TooLarge,
            ListError::Malformed(_) => Self::Malformed,
            _ => Self::ListFailed,
        }
    }

    /// Returns the reason for a failed watch; `other` for errors that do not have a reason of their own.
    pub(super) fn after_watch(error: &WatchError, other: Self) -> Self {
        match error {
            WatchError::Expired(_) => Self::Expired,
            WatchError::TooLarge(_) => Self::TooLarge,
            WatchError::Malformed(_) => Self::Malformed,
            _ => other,
        }
    }

    /// Returns the reason as a metric label value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::TooLarge => "too_large",
            Self::ShortWatch => "short_watch",
            Self::WatchRefused => "watch_refused",
            Self::WatchFailed => "watch_failed",
            Self::ListFailed => "list_failed",
            Self::Malformed => "malformed",
            Self::Gone => "gone",
            Self::InitialEvents => "initial_events",
        }
    }
}
