//! Watched: a resource whose informer has its first list, and that it is kept for as long as somebody reads it.
//!
//! - C3: an informer on demand ends only when nobody holds a [`Watched`] of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};
use watchkeeper_cache::Informer;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::Collection;

/// A resource whose informer has its first list, and does not end because it is idle while this is held (C3).
#[derive(Debug, Clone)]
pub struct Watched {
    /// What it is.
    pub mapping: Arc<Mapping>,
    /// Its informer.
    pub informer: Informer,
    in_use: Arc<InUse>,
}

/// A resource that has an informer.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) mapping: Arc<Mapping>,
    pub(super) collection: Collection,
    pub(super) informer: Informer,
    /// Whether it is there from the start, and stays.
    pub(super) is_permanent: bool,
    usage: Arc<Usage>,
}

/// Who reads a resource.
#[derive(Debug)]
struct Usage {
    readers: AtomicUsize,
    /// When there was last a reader; of no meaning while there is one.
    last: Mutex<Instant>,
    is_synced: AtomicBool,
}

/// One reader less when it is dropped.
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
            is_synced: AtomicBool::new(false),
        };
        Self { mapping, collection, informer, is_permanent, usage: Arc::new(usage) }
    }

    pub(super) fn is_of(&self, group: &str, version: &str, resource: &str) -> bool {
        let of = &self.mapping.resource;
        of.resource == resource && of.group == group && of.version == version
    }

    /// Its informer, which is in use from now on. It may not have its first list yet.
    pub(super) fn take(&self) -> Watched {
        self.usage.readers.fetch_add(1, Ordering::Acquire);
        let in_use = Arc::new(InUse(self.usage.clone()));
        Watched { mapping: self.mapping.clone(), informer: self.informer.clone(), in_use }
    }

    /// For how long nobody has read it; `None` if somebody does, or it stays anyway.
    pub(super) fn idle(&self) -> Option<Duration> {
        let is_idle = !self.is_permanent && self.usage.readers.load(Ordering::Acquire) == 0;
        is_idle.then(|| self.usage.last.lock().elapsed())
    }
}

impl Watched {
    /// Whether there is a first list. Once there is, this asks nobody.
    pub(super) fn is_synced(&self) -> bool {
        let known = &self.in_use.0.is_synced;
        if !known.load(Ordering::Relaxed) && self.informer.is_synced() {
            known.store(true, Ordering::Relaxed);
        }
        known.load(Ordering::Relaxed)
    }
}
