//! Queries: what is asked of a store, and what a range answers.

use std::num::NonZeroUsize;
use std::sync::Arc;

use super::{Collection, Revision, Stored};

/// What must be stored under a key for a write to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Nothing: the write creates.
    Absent,
    /// The object as written at this revision.
    At(Revision),
    /// Whatever there is, or nothing.
    Any,
}

impl Expect {
    /// Whether this is what is expected.
    pub(super) fn allows(self, existing: Option<&Stored>) -> bool {
        match (self, existing) {
            (Self::Any, _) | (Self::Absent, None) => true,
            (Self::At(revision), Some(existing)) => existing.modified() == revision,
            (Self::Absent, Some(_)) | (Self::At(_), None) => false,
        }
    }
}

/// Which objects, at which revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeQuery {
    /// The collection.
    pub collection: Collection,
    /// Only this namespace; `None` for all of the collection.
    pub namespace: Option<String>,
    /// The state at this revision; `None` for the newest.
    pub at: Option<Revision>,
    /// Begin with the first key that is not less than this text, which need not be a key: the key
    /// of the last item with a zero byte after it begins the next page.
    pub start: Option<String>,
    /// At most so many items; `None` for all.
    pub limit: Option<NonZeroUsize>,
}

impl RangeQuery {
    /// All objects of a collection in their newest state.
    pub fn all(collection: Collection) -> Self {
        Self { collection, namespace: None, at: None, start: None, limit: None }
    }
}

/// What a range found.
#[derive(Debug, Clone)]
pub struct Range {
    /// In the order of the texts of their keys, byte by byte, as etcd has it.
    pub items: Vec<Arc<Stored>>,
    /// The revision of the state that they were read from: watch after it, or ask for the next page
    /// at it.
    pub revision: Revision,
    /// How many more items there are after the last. 0 unless there was a limit.
    pub remaining: usize,
}

/// Which changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchQuery {
    /// The collection.
    pub collection: Collection,
    /// Only this namespace; `None` for all of the collection.
    pub namespace: Option<String>,
    /// Only changes after this revision, which may be in the future.
    pub after: Revision,
}
