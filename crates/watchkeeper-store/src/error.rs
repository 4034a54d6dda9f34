//! Errors of the store, one enum per operation.

use std::sync::Arc;

use watchkeeper_core::BoxError;

use super::{Revision, Stored};

/// An error from a read, a wait or a compaction.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The revision has been compacted: read at `oldest` or later, or read the newest state.
    #[error("revision {asked} has been compacted, the oldest available is {oldest}")]
    Compacted {
        /// The requested revision.
        asked: Revision,
        /// The oldest revision that can be read.
        oldest: Revision,
    },
    /// The revision does not exist yet: wait for it and try again.
    #[error("revision {asked} is in the future, the newest is {current}")]
    Future {
        /// The requested revision.
        asked: Revision,
        /// The revision of the newest change.
        current: Revision,
    },
    /// The store is unreachable: try again later.
    #[error("store is unavailable")]
    Unavailable(#[source] BoxError),
}

/// An error from a write.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The precondition failed and nothing was written: decide again on the current state.
    #[error("the stored object does not match the precondition of the write")]
    Conflict {
        /// The object stored under the key, if any.
        current: Option<Arc<Stored>>,
    },
    /// The outcome is unknown: read before writing again.
    #[error("store is unavailable")]
    Unavailable(#[source] BoxError),
    /// The change is not visible, but may reappear after a restart: read before writing again. Further writes fail
    /// until the disk accepts writes again; each write tries.
    #[error("failed to write to disk")]
    NotDurable(#[source] BoxError),
}

/// An error from opening a watch, or the reason that a watch ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// Changes have been lost, either at the start or because the watcher read too slowly: list, and watch from
    /// there.
    #[error("revision {after} has been compacted, the oldest available is {oldest}")]
    Compacted {
        /// The last revision that the watch had reached.
        after: Revision,
        /// The oldest revision that can be watched from.
        oldest: Revision,
    },
    /// The store is unreachable: watch again from the last revision received.
    #[error("store is unavailable")]
    Unavailable(#[source] BoxError),
}
