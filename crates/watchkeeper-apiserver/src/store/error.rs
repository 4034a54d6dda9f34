//! Why a store did not do what it was asked, sorted by what happens next.

use std::sync::Arc;

use watchkeeper_core::BoxError;

use super::{Revision, Stored};

/// Why a read, a wait or a compaction failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Read at `oldest` or later, or the newest state.
    #[error("revision {asked} has left the history, which begins at {oldest}")]
    Compacted {
        /// What was asked for.
        asked: Revision,
        /// The oldest revision that can be read.
        oldest: Revision,
    },
    /// Wait for the revision, and ask again.
    #[error("revision {asked} is in the future, the newest is {current}")]
    Future {
        /// What was asked for.
        asked: Revision,
        /// The revision of the newest change.
        current: Revision,
    },
    /// Ask again, later.
    #[error("the store cannot be reached")]
    Unavailable(#[source] BoxError),
}

/// Why a write did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Nothing was written. Decide anew, on what is stored.
    #[error("what is stored is not what the write expects")]
    Conflict {
        /// What is stored under the key, if anything.
        current: Option<Arc<Stored>>,
    },
    /// Whether it was written is unknown: read before writing again.
    #[error("the store cannot be reached")]
    Unavailable(#[source] BoxError),
    /// It is not to be seen, but may be there after a restart: read before writing again. Nothing can be
    /// written until the disk takes writes again; each write tries.
    #[error("the write is not on disk")]
    NotDurable(#[source] BoxError),
}

/// Why a watch could not be opened, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// Changes have been missed for good, at the start or because the watcher took its events too
    /// slowly: list, and watch from there.
    #[error("revision {after} has left the history, which begins at {oldest}")]
    Compacted {
        /// The revision that the watch had got to.
        after: Revision,
        /// The oldest revision that can be watched from.
        oldest: Revision,
    },
    /// Watch again from the last revision that came.
    #[error("the store cannot be reached")]
    Unavailable(#[source] BoxError),
}
