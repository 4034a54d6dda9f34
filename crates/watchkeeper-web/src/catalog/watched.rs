//! A resource with an informer, and the count of its readers.
//!
//! - `catalog.C3`: an on-demand informer is stopped only while no [`Watched`] of it exists.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};
use watchkeeper_cache::Informer;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::Collection;

/// A resource whose informer has its first list. Its informer is not stopped for being idle while this exists
/// (`catalog.C3`).
#[derive(Debug, Clone)]
pub struct Watched {
    /// The resource and its kind.
    pub mapping: Arc<Mapping>,
    /// The informer.
    pub informer: Informer,
    in_use: Arc<InUse>,
}

/// A resource with an informer.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) mapping: Arc<Mapping>,
    pub(super) collection: Collection,
    pub(super) informer: Informer,
    /// Whether it is one of [`ALWAYS_CACHED`](super::ALWAYS_CACHED) and never idle.
    pub(super) is_permanent: bool,
    usage: Arc<Usage>,
}

/// The readers of a resource.
#[derive(Debug)]
struct Usage {
    readers: AtomicUsize,
    /// When the last reader left; meaningless while there are readers.
    last: Mutex<Instant>,
    is_ready: AtomicBool,
}

/// A guard that decrements the number of readers on drop.
#[derive(Debug)]
struct InUse(Arc<Usage>);

impl Drop for InUse {
    fn drop(&mut self) {
        *self.0.last.lock() = Instant::now();
        self.0.readers.fetch_sub(1, Ordering::Release);
    }
}

impl Entry {
    pub(super) fn new(
        mapping: Arc<Mapping>,
        collection: Collection,
        informer: Informer,
        is_permanent: bool,
    ) -> Self {
        let usage = Usage {
            readers: AtomicUsize::new(0),
            last: Mutex::new(Instant::now()),
            is_ready: AtomicBool::new(false),
        };
        Self { mapping, collection, informer, is_permanent, usage: Arc::new(usage) }
    }

    pub(super) fn is_of(&self, group: &str, version: &str, resource: &str) -> bool {
        let of = &self.mapping.resource;
        of.resource == resource && of.group == group && of.version == version
    }

    /// Returns the informer and counts a reader. The informer may not have its first list yet.
    pub(super) fn take(&self) -> Watched {
        self.usage.readers.fetch_add(1, Ordering::Acquire);
        let in_use = Arc::new(InUse(self.usage.clone()));
        Watched { mapping: self.mapping.clone(), informer: self.informer.clone(), in_use }
    }

    /// Returns how long the informer has been idle; `None` if it has readers or is permanent.
    pub(super) fn idle(&self) -> Option<Duration> {
        let is_idle = !self.is_permanent && self.usage.readers.load(Ordering::Acquire) == 0;
        is_idle.then(|| self.usage.last.lock().elapsed())
    }
}

impl Watched {
    /// Returns whether the informer has its first list. Caches a positive result.
    pub(super) fn is_ready(&self) -> bool {
        let known = &self.in_use.0.is_ready;
        if !known.load(Ordering::Relaxed) && self.informer.is_ready() {
            known.store(true, Ordering::Relaxed);
        }
        known.load(Ordering::Relaxed)
    }
}
