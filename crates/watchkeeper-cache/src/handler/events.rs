//! Every event: for who must see each change and not only the newest.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::Instant;
use watchkeeper_core::Object;

use super::{Figures, Filter};
use crate::delta::Delta;
use crate::lock::Mutex;
use crate::store::{Store, Subscriber};

/// What one hears who wants every event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// An event, as the store has seen it.
    Event(Delta<Arc<Object>>),
    /// As many events as this were dropped here, because they were not taken in time.
    Missed(u64),
}

/// All objects, and then every event that the store sees, none of them merged with another. If more wait than
/// it holds the oldest are dropped, and it says so.
///
/// What happened while the connection was lost no server tells: then even this has only what a list shows.
///
/// Dropped, it ends. While it exists, the informer it came from keeps running.
#[derive(Debug)]
#[must_use = "a subscription ends when it is dropped"]
pub struct EveryEvent {
    ring: Arc<Ring>,
    /// Keeps the informer running.
    _store: Store,
}

#[derive(Debug)]
struct Ring {
    filter: Filter,
    capacity: usize,
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// With when they came.
    events: VecDeque<(Instant, Delta<Arc<Object>>)>,
    /// Since it was last told.
    missed: u64,
    dropped: u64,
    has_ended: bool,
}

impl Subscriber for Ring {
    fn hear(&self, deltas: &[Delta<Arc<Object>>]) {
        let now = Instant::now();
        let mut inner = self.inner.lock();
        for event in deltas.iter().filter_map(|delta| self.filter.seen(delta)) {
            if inner.events.len() == self.capacity {
                inner.events.pop_front();
                inner.missed += 1;
                inner.dropped += 1;
            }
            inner.events.push_back((now, event));
        }
        drop(inner);
        self.changed.notify_one();
    }

    fn synced(&self) {}

    fn ended(&self) {
        self.inner.lock().has_ended = true;
        self.changed.notify_one();
    }

    fn figures(&self) -> Figures {
        let inner = self.inner.lock();
        Figures {
            pending: inner.events.len(),
            lag: inner.events.front().map(|(since, _)| since.elapsed()).unwrap_or_default(),
            dropped: inner.dropped,
            ..Figures::default()
        }
    }
}

impl EveryEvent {
    /// Of a store. It holds `capacity` events, at least one.
    pub fn new(store: &Store, filter: Filter, capacity: usize) -> Self {
        let inner = Mutex::default();
        let ring = Arc::new(Ring { filter, capacity: capacity.max(1), inner, changed: Notify::new() });
        store.subscribe(&ring);
        Self { ring, _store: store.clone() }
    }

    /// The next event; waits for one. `None` once the store gets no more.
    pub async fn next(&mut self) -> Option<Heard> {
        loop {
            {
                let mut inner = self.ring.inner.lock();
                if inner.missed > 0 {
                    return Some(Heard::Missed(std::mem::take(&mut inner.missed)));
                }
                if let Some((_, event)) = inner.events.pop_front() {
                    return Some(Heard::Event(event));
                }
                if inner.has_ended {
                    return None;
                }
            }
            self.ring.changed.notified().await;
        }
    }

    /// How it is doing.
    pub fn figures(&self) -> Figures {
        self.ring.figures()
    }

    /// How many events wait.
    pub fn pending(&self) -> usize {
        self.ring.inner.lock().events.len()
    }
}
