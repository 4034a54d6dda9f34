//! Store: what the API server remembers, and the order in which it came to be.
//!
//! From: the request handlers, which have validated, defaulted and encoded an object.
//! To:   the handlers that get, list and watch; one [`Event`] a change, shared by all watchers.
//!
//! [`Store`] is the seam; [`MemoryStore`] is the implementation that needs nothing else, and [`DiskStore`] the one
//! that outlives its process.
//!
//! - T1: one revision counter serves all collections. A revision is allocated inside the commit, so
//!   that none is ever seen without its change, and none is skipped.
//! - T2: a body says its own revision: `metadata.resourceVersion`, the head's version and
//!   [`Stored::modified`] are the same number.
//! - T3: what is read at a revision is the state after all changes up to it and before any later
//!   one, or an error; never something in between.
//! - T4: a watch yields every change in its scope after its start exactly once, in the order of the
//!   revisions, or ends with an error that says so.

mod collection;
pub mod disk;
mod error;
mod event;
mod memory;
mod place;
mod query;
mod revision;
mod stored;
#[cfg(test)]
mod tests;
mod unversioned;

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use watchkeeper_core::ObjectKey;

pub use collection::Collection;
pub use disk::DiskStore;
pub use error::{ReadError, WatchError, WriteError};
pub use event::{Event, Shown, Told};
pub use memory::{HistoryLimits, MemoryStore};
pub use query::{Expect, Range, RangeQuery, WatchQuery};
pub use revision::Revision;
pub use stored::Stored;
pub use unversioned::{NoPlace, Unversioned};

/// What a store does while it is awaited.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A watch that is open.
pub type BoxWatch = Pin<Box<dyn Watch>>;

/// Versioned objects in collections, with a bounded history.
///
/// All futures can be dropped at any time. A write happens wholly or not at all; whether it has
/// happened is unknown only where the future was dropped after its first poll. In memory it happens
/// within one poll.
pub trait Store: Send + Sync {
    /// The newest state of one object.
    fn get<'a>(
        &'a self,
        collection: &'a Collection,
        key: &'a ObjectKey,
    ) -> StoreFuture<'a, Result<Option<Arc<Stored>>, ReadError>>;

    /// The objects of a collection, or a page of them, at one revision.
    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Result<Range, ReadError>>;

    /// Writes an object under the key in its head, if what is stored there is what is expected, and
    /// returns it with its revision.
    ///
    /// A write that changes nothing is a write like any other: compare first, with
    /// [`Unversioned::is_same_as`].
    fn put<'a>(
        &'a self,
        collection: &'a Collection,
        value: Unversioned,
        expect: Expect,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>>;

    /// Deletes an object, if it is there and, where `at` is given, was last written at that
    /// revision. Returns its last state under the revision of the deletion.
    fn delete<'a>(
        &'a self,
        collection: &'a Collection,
        key: &'a ObjectKey,
        at: Option<Revision>,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>>;

    /// Opens a watch. Dropping the watch ends it.
    fn watch(&self, query: WatchQuery) -> StoreFuture<'_, Result<BoxWatch, WatchError>>;

    /// Forgets the history before a revision. What was compacted before stays so.
    fn compact(&self, revision: Revision) -> StoreFuture<'_, Result<(), ReadError>>;

    /// The revision of the newest change.
    fn current(&self) -> StoreFuture<'_, Result<Revision, ReadError>>;

    /// Waits until reads are not older than `revision`, and returns the revision that there is then.
    /// It waits for ever if that never comes: how long to wait is for the caller to say.
    fn wait_for(&self, revision: Revision) -> StoreFuture<'_, Result<Revision, ReadError>>;
}

/// A watch: batches of events, never empty, oldest first (T4). An error is the last item.
///
/// Polling is cancel-safe: what was not yielded is yielded by the next poll.
pub trait Watch: Stream<Item = Result<Vec<Arc<Event>>, WatchError>> + Send {
    /// Everything in scope up to this revision has been yielded: what a bookmark may say.
    fn progress(&self) -> Revision;
}
