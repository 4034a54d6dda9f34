//! Versioned Kubernetes objects in collections, with watches and a bounded history of changes.
//!
//! Input: request handlers, which have defaulted, validated and encoded an object.
//! Output: handlers that get, list and watch; one [`Event`] per change, shared by all watchers.
//!
//! [`Store`] is the interface. [`MemoryStore`] keeps everything in memory; [`DiskStore`] also survives a restart.
//!
//! Invariants:
//! - `store.T1`: all collections share one revision counter. A revision is allocated inside the commit, so that none
//!   is visible without its change and none is skipped.
//! - `store.T2`: `metadata.resourceVersion` in the body, that of the parsed metadata and [`Stored::modified`] are the
//!   same number.
//! - `store.T3`: a read at a revision returns the state after all changes up to it and before any later one, or an
//!   error.
//! - `store.T4`: a watch yields every change in its scope after its start exactly once, in revision order, or ends
//!   with an error.

mod collection_id;
pub mod disk;
mod error;
mod event;
mod memory;
mod query;
mod revision;
mod stored;
#[cfg(test)]
mod tests;
mod unversioned;
mod version_slot;

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use watchkeeper_core::ObjectKey;

pub use collection_id::CollectionId;
pub use disk::DiskStore;
pub use error::{ReadError, WatchError, WriteError};
pub use event::{ChangeType, Event, EventState};
pub use memory::{HistoryLimits, MemoryStore};
pub use query::{Precondition, Range, RangeQuery, WatchQuery};
pub use revision::Revision;
pub use stored::Stored;
pub use unversioned::{Unversioned, UnversionedError};

/// The future returned by the methods of [`Store`].
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An open watch.
pub type BoxWatch = Pin<Box<dyn Watch>>;

/// Versioned objects in collections, with a bounded history.
///
/// All futures can be dropped at any time. A write is atomic; if its future is dropped after the first poll, the
/// outcome is unknown. In memory, a write completes within one poll.
pub trait Store: Send + Sync {
    /// Returns the newest state of one object.
    fn get<'a>(
        &'a self,
        collection: &'a CollectionId,
        key: &'a ObjectKey,
    ) -> StoreFuture<'a, Result<Option<Arc<Stored>>, ReadError>>;

    /// Returns the objects of a collection, or one page of them, at a single revision.
    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Result<Range, ReadError>>;

    /// Writes an object under the key in its metadata if the precondition holds, and returns it with its new revision.
    ///
    /// A write that changes nothing still gets a new revision: compare first, with [`Unversioned::is_same_as`].
    fn put<'a>(
        &'a self,
        collection: &'a CollectionId,
        value: Unversioned,
        expect: Precondition,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>>;

    /// Deletes an object if it exists and, if `at` is set, was last written at that revision. Returns its last state
    /// with the revision of the deletion.
    fn delete<'a>(
        &'a self,
        collection: &'a CollectionId,
        key: &'a ObjectKey,
        at: Option<Revision>,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>>;

    /// Opens a watch. Dropping the watch ends it.
    fn watch(&self, query: WatchQuery) -> StoreFuture<'_, Result<BoxWatch, WatchError>>;

    /// Drops the history before a revision. Earlier compactions stay in effect.
    fn compact(&self, revision: Revision) -> StoreFuture<'_, Result<(), ReadError>>;

    /// Returns the revision of the newest change.
    fn current(&self) -> StoreFuture<'_, Result<Revision, ReadError>>;

    /// Waits until reads are at least as new as `revision`, and returns the revision reached. There is no timeout:
    /// the caller sets one if it needs one.
    fn wait_for(&self, revision: Revision) -> StoreFuture<'_, Result<Revision, ReadError>>;
}

/// An open watch: a stream of batches of events, never empty, oldest first (`store.T4`). An error is the last item.
///
/// Polling is cancel-safe: an event that was not yielded is yielded by the next poll.
pub trait Watch: Stream<Item = Result<Vec<Arc<Event>>, WatchError>> + Send {
    /// Returns the revision up to which everything in scope has been yielded, for a bookmark.
    fn progress(&self) -> Revision;
}
