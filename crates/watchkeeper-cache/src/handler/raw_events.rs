//! Raw events: a subscription that does not coalesce.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::Instant;
use watchkeeper_core::Object;

use super::{Filter, HandlerStats};
use crate::delta::Delta;
use crate::lock::Mutex;
use crate::store::{Store, Subscriber};

/// An item of [`RawEvents`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawEvent {
    /// A change of the store, not coalesced.
    Event(Delta<Arc<Object>>),
    /// This many events were dropped here because the consumer was too slow.
    Lagged(u64),
}

/// A subscription to every single change of a store, without coalescing.
///
/// Delivers all existing objects, and then each change in the order in which the store applied it. The buffer is
/// bounded: when it is full, the oldest event is dropped, and the consumer receives the number of dropped events in
/// their place. Producers never wait.
///
/// Changes that happened while the watch was interrupted are not sent by the server; the relist that follows reports
/// only the difference.
///
/// Dropping it unsubscribes. While it exists, its informer keeps running.
#[derive(Debug)]
#[must_use = "a subscription ends when it is dropped"]
pub struct RawEvents {
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
    /// Events with their arrival times.
    events: VecDeque<(Instant, Delta<Arc<Object>>)>,
    /// Events dropped since the last [`RawEvent::Lagged`].
    missed: u64,
    /// Events dropped since the subscription began.
    dropped: u64,
    has_ended: bool,
}

impl Subscriber for Ring {
    fn notify(&self, deltas: &[Delta<Arc<Object>>]) {
        let now = Instant::now();
        let mut inner = self.inner.lock();
        for event in deltas.iter().filter_map(|delta| self.filter.apply(delta)) {
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

    fn ready(&self) {}

    fn close(&self) {
        self.inner.lock().has_ended = true;
        self.changed.notify_one();
    }

    fn stats(&self) -> HandlerStats {
        let inner = self.inner.lock();
        HandlerStats {
            pending: inner.events.len(),
            lag: inner.events.front().map(|(since, _)| since.elapsed()).unwrap_or_default(),
            dropped: inner.dropped,
            ..HandlerStats::default()
        }
    }
}

impl RawEvents {
    /// Subscribes to a store. `capacity` is the largest number of buffered events, at least one.
    pub fn new(store: &Store, filter: Filter, capacity: usize) -> Self {
        let inner = Mutex::default();
        let ring = Arc::new(Ring { filter, capacity: capacity.max(1), inner, changed: Notify::new() });
        store.subscribe(&ring);
        Self { ring, _store: store.clone() }
    }

    /// Waits for the next event. Returns `None` once the informer has stopped and the buffer is empty. Cancel safe.
    pub async fn next(&mut self) -> Option<RawEvent> {
        loop {
            {
                let mut inner = self.ring.inner.lock();
                if inner.missed > 0 {
                    return Some(RawEvent::Lagged(std::mem::take(&mut inner.missed)));
                }
                if let Some((_, event)) = inner.events.pop_front() {
                    return Some(RawEvent::Event(event));
                }
                if inner.has_ended {
                    return None;
                }
            }
            self.ring.changed.notified().await;
        }
    }

    /// Returns the subscription's counters.
    pub fn stats(&self) -> HandlerStats {
        self.ring.stats()
    }

    /// Returns the number of buffered events.
    pub fn pending(&self) -> usize {
        self.ring.inner.lock().events.len()
    }
}
