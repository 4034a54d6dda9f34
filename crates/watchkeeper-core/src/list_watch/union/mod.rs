//! Union: several collections as one.
//!
//! Input: one [`ListWatch`] per part, usually the same resource in several namespaces.
//! Output: one reflector, and thus one store and its subscribers.
//!
//! - `union.U1`: the union tracks the version of each part. A watch resumes every part from there; the version that
//!   the reflector requests only applies to parts without one.
//! - `union.U2`: the version of the union is the lowest of its parts. All changes up to it have been delivered;
//!   newer changes of some parts may have been delivered too.
//! - `union.U3`: a list or watch covers every part. If a part fails, the whole fails with its error, so a result is
//!   never partial.

mod list;
mod position;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Collection, ListRequest, ListStream, ListWatch, WatchFuture, WatchRequest};
use position::Positions;

/// Disjoint collections as a single [`ListWatch`].
///
/// A union is ready when every part is, so a forbidden part blocks all of them; the error names it. When a part
/// expires, all parts are listed again; unchanged objects cause no notifications. When the watch of a part ends, all
/// watches are reopened, each from its own version.
///
/// Waiting for a version waits for all parts: a part without changes reaches it through bookmarks, which servers send
/// about every minute. If versions cannot be compared, the union's version is all of them, joined by commas.
///
/// A union serves one reflector, which sends one request at a time.
#[derive(Clone)]
pub struct Union {
    parts: Arc<[Box<dyn ListWatch>]>,
    positions: Arc<Mutex<Positions>>,
}

impl Union {
    /// Creates a union. Without parts it is empty.
    pub fn of(parts: impl IntoIterator<Item = Box<dyn ListWatch>>) -> Self {
        let parts: Arc<[_]> = parts.into_iter().collect();
        let positions = Arc::new(Mutex::new(Positions::new(parts.len())));
        Self { parts, positions }
    }

    /// Creates a union of a collection's namespaces, or returns `None` for a collection of one or all namespaces.
    pub fn of_namespaces(
        collection: &Collection,
        source: impl Fn(&Collection) -> Box<dyn ListWatch>,
    ) -> Option<Self> {
        let parts = collection.split();
        (parts.len() > 1).then(|| Self::of(parts.iter().map(source)))
    }

    fn positions(&self) -> MutexGuard<'_, Positions> {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ListWatch for Union {
    fn list(&self, request: ListRequest) -> ListStream {
        list::open(self.clone(), request)
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        Box::pin(watch::open(self.clone(), request))
    }

    fn sends_initial_events(&self) -> bool {
        self.parts.iter().all(ListWatch::sends_initial_events)
    }

    /// Always `false`: either of two parts may be ahead.
    fn is_ordered(&self) -> bool {
        false
    }
}

impl std::fmt::Debug for Union {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Union").field(&self.positions()).finish()
    }
}
