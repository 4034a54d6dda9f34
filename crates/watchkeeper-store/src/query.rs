//! Queries and their results.

use std::num::NonZeroUsize;
use std::sync::Arc;

use super::{CollectionId, Revision, Stored};

/// The precondition of a write: the state required under its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing is stored: the write creates.
    Absent,
    /// The object was last written at this revision.
    At(Revision),
    /// No precondition.
    Any,
}

impl Precondition {
    /// Returns whether the stored state satisfies the precondition.
    pub(super) fn allows(self, existing: Option<&Stored>) -> bool {
        match (self, existing) {
            (Self::Any, _) | (Self::Absent, None) => true,
            (Self::At(revision), Some(existing)) => existing.modified() == revision,
            (Self::Absent, Some(_)) | (Self::At(_), None) => false,
        }
    }
}

/// Selects objects of a collection at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeQuery {
    /// The collection.
    pub collection: CollectionId,
    /// Only this namespace; `None` for all of the collection.
    pub namespace: Option<String>,
    /// The state at this revision; `None` for the newest.
    pub at: Option<Revision>,
    /// The first key to return, or any text: reading begins at the first key that is not less. To read the next page,
    /// append a zero byte to the last key of this one.
    pub start: Option<String>,
    /// The maximum number of items; `None` for no limit.
    pub limit: Option<NonZeroUsize>,
}

impl RangeQuery {
    /// Selects all objects of a collection in their newest state.
    pub fn all(collection: CollectionId) -> Self {
        Self { collection, namespace: None, at: None, start: None, limit: None }
    }
}

/// The result of a range read.
#[derive(Debug, Clone)]
pub struct Range {
    /// The objects, ordered by the bytes of their keys, as in etcd.
    pub items: Vec<Arc<Stored>>,
    /// The revision that was read: watch after it, or read the next page at it.
    pub revision: Revision,
    /// The number of items after the last one returned. 0 unless there was a limit.
    pub remaining: usize,
}

/// Selects changes in a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchQuery {
    /// The collection.
    pub collection: CollectionId,
    /// Only this namespace; `None` for all of the collection.
    pub namespace: Option<String>,
    /// Only changes after this revision, which may lie in the future.
    pub after: Revision,
}
