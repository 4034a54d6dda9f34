//! Relist: why the whole state is asked for once more.

use watchkeeper_core::{ListError, WatchError};

/// Why a reflector asks for the whole state again. The first time needs no reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Relist {
    /// The server has forgotten the version.
    Expired,
    /// The server does not know the version yet.
    TooLarge,
    /// A watch was over at once, and brought nothing.
    ShortWatch,
    /// A watch could not be opened.
    WatchRefused,
    /// A watch ended with an error.
    WatchFailed,
    /// A list failed.
    ListFailed,
    /// What the server sent cannot be read.
    Malformed,
    /// The collection is not there any more.
    Gone,
    /// Initial events are not to be had, or broke off.
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

    /// What else than these it is the caller knows.
    pub(super) fn after_watch(error: &WatchError, other: Self) -> Self {
        match error {
            WatchError::Expired(_) => Self::Expired,
            WatchError::TooLarge(_) => Self::TooLarge,
            WatchError::Malformed(_) => Self::Malformed,
            _ => other,
        }
    }

    /// A word for it, as for the label of a metric.
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
