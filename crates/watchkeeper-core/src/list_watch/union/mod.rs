//! Union: several collections as one.
//!
//! From: its parts, each a [`ListWatch`]: the same resource in some namespaces.
//! To:   one reflector, and so one store, and whoever hears of it.
//!
//! - U1: of each part the union knows how far it has got. A watch goes on from there, part by part, whatever
//!   version the reflector names; that version is where parts begin of which it knows nothing yet.
//! - U2: the version of the whole is the lowest of its parts: all that happened up to it has been told. What
//!   is newer than it may have been told too, of some parts.
//! - U3: a list or a watch of the whole is one of every part. Where one fails the whole does, with its error:
//!   what is there is never half of it.

mod list;
mod position;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Collection, ListRequest, ListStream, ListWatch, WatchOpening, WatchRequest};
use position::Positions;

/// Collections that have no object in common, as one.
///
/// It is synced when every part is, so that one that is forbidden holds up all; the error says which it is.
/// When a part has expired all are asked for anew: what has not changed is no news to who hears of changes.
/// When the watch of a part ends all are opened again, each from where it was.
///
/// To wait for a version is to wait for all parts: a part in which nothing happens gets there by its
/// bookmarks, which servers send every minute or so. Where versions cannot be compared, that of the whole is all of
/// them, joined by commas.
///
/// It is for one reader, whose requests come one after the other.
#[derive(Clone)]
pub struct Union {
    parts: Arc<[Box<dyn ListWatch>]>,
    positions: Arc<Mutex<Positions>>,
}

impl Union {
    /// Of some parts. Without any it is empty, and stays so.
    pub fn of(parts: impl IntoIterator<Item = Box<dyn ListWatch>>) -> Self {
        let parts: Arc<[_]> = parts.into_iter().collect();
        let positions = Arc::new(Mutex::new(Positions::new(parts.len())));
        Self { parts, positions }
    }

    /// Of the namespaces of a collection, where there are several; `None` for one and for all.
    pub fn of_namespaces(
        collection: &Collection,
        source: impl Fn(&Collection) -> Box<dyn ListWatch>,
    ) -> Option<Self> {
        let parts = collection.split();
        (parts.len() > 1).then(|| Self::of(parts.iter().map(source)))
    }

    fn positions(&self) -> MutexGuard<'_, Positions> {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner) // nothing of ours panics while it is held
    }
}

impl ListWatch for Union {
    fn list(&self, request: ListRequest) -> ListStream {
        list::open(self.clone(), request)
    }

    fn watch(&self, request: WatchRequest) -> WatchOpening {
        Box::pin(watch::open(self.clone(), request))
    }

    fn sends_initial_events(&self) -> bool {
        self.parts.iter().all(ListWatch::sends_initial_events)
    }

    /// Of two parts either may be ahead.
    fn is_ordered(&self) -> bool {
        false
    }
}

impl std::fmt::Debug for Union {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Union").field(&self.positions()).finish()
    }
}
