//! Expiry: deletes events after a time to live.
//!
//! Input: a watch of the events in the store.
//! Output: deletions in the store, which watchers receive like any other.
//!
//! In kube-apiserver every write of an event attaches a new etcd lease: an update extends its life, an update without
//! changes does not, and finalizers do not keep it. The same holds here. kube-apiserver shares a lease among the writes
//! of a minute, so events may live up to a twentieth longer there (at most a minute); here they are deleted on time.
//!
//! The number of events is bounded only by their time to live: a client that writes 1,000 per second has 3.6 million
//! after an hour. This task holds a key and a time for each.
//!
//! Invariants:
//! - `expiry.E1`: `due` has one entry per known event, at the revision of its last write. All events live equally long,
//!   so the order of revisions is the order of deadlines.
//! - `expiry.E2`: an event is deleted only at the known revision: a concurrent write extends its life.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use watchkeeper_core::{BoxError, ObjectKey, Quoted};

use crate::http::parse_duration;
use crate::store::{
    BoxWatch, CollectionId, Event, RangeQuery, Revision, Store, Stored, WatchQuery, WriteError,
};

/// The default time to live of an event after its last write.
pub const EVENT_TTL: Duration = Duration::from_secs(3600);

/// The maximum time to live, so that adding it to a clock does not overflow.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The collection of the events of both groups.
const EVENTS: &str = "events";

/// The delay before a retry after a failure of the store.
const RETRY: Duration = Duration::from_secs(1);

/// The maximum number of deletions before yielding.
const BATCH: usize = 256;

/// Parses a time to live like kube-apiserver's `--event-ttl`: `1h`, `90m`, `1h30m`.
///
/// ```
/// use std::time::Duration;
/// use watchkeeper_apiserver::expiry::parse_ttl;
///
/// assert_eq!(parse_ttl("1h30m"), Ok(Duration::from_secs(5400)));
/// assert_eq!(parse_ttl("5x").unwrap_err(), r#"time: unknown unit "x" in duration "5x""#);
/// assert_eq!(parse_ttl("-5s").unwrap_err(), r#"invalid time to live "-5s": must not be negative"#);
/// ```
///
/// # Errors
/// Returns Go's message if the text is not a duration, and another one if it is negative.
pub fn parse_ttl(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        (true, time) if !time.is_zero() => {
            Err(format!("invalid time to live {}: must not be negative", Quoted(text)))
        }
        (_, time) => Ok(time),
    }
}

/// Deletes expired events until `stop` is cancelled. Events that exist at the start get a full time to live.
pub(crate) async fn expire_events(store: Arc<dyn Store>, ttl: Duration, stop: CancellationToken) {
    let ttl = ttl.min(LONGEST);
    let mut expiry = Expiry { store, collection: EVENTS.into(), ttl, due: BTreeMap::new() };
    stop.run_until_cancelled(expiry.run()).await;
}

struct Expiry {
    store: Arc<dyn Store>,
    collection: CollectionId,
    ttl: Duration,
    /// See `expiry.E1`.
    due: BTreeMap<Revision, (Instant, ObjectKey)>,
}

impl Expiry {
    async fn run(&mut self) {
        loop {
            match self.open().await {
                Ok(mut watch) => self.follow(&mut watch).await,
                Err(error) => {
                    tracing::warn!("failed to watch events to expire; retrying in {RETRY:?}: {error}");
                    sleep(RETRY).await;
                }
            }
        }
    }

    /// Lists the events, and watches from there. Known events keep their deadline.
    async fn open(&mut self) -> Result<BoxWatch, BoxError> {
        let range = self.store.range(RangeQuery::all(self.collection.clone())).await?;
        let mut known = std::mem::take(&mut self.due);
        for stored in &range.items {
            match known.remove_entry(&stored.modified()) {
                Some((revision, end)) => drop(self.due.insert(revision, end)),
                None => self.written(stored),
            }
        }
        let query =
            WatchQuery { collection: self.collection.clone(), namespace: None, after: range.revision };
        Ok(self.store.watch(query).await?)
    }

    /// Follows the watch and deletes what is due, until the watch breaks or lags behind.
    async fn follow(&mut self, watch: &mut BoxWatch) {
        loop {
            let next = self.due.first_key_value().map(|(_, (end, _))| *end);
            let due = async {
                match next {
                    Some(end) => sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                batch = watch.next() => match batch {
                    Some(Ok(events)) => events.iter().for_each(|event| self.observe(event)),
                    Some(Err(_)) | None => return,
                },
                () = due => self.delete_due().await,
            }
        }
    }

    fn observe(&mut self, event: &Event) {
        if let Some(previous) = event.previous() {
            self.due.remove(&previous.modified());
        }
        if let Some(current) = event.current() {
            self.written(current);
        }
    }

    fn written(&mut self, stored: &Stored) {
        self.due.insert(stored.modified(), (Instant::now() + self.ttl, stored.key().clone()));
    }

    /// Deletes what is due, at most [`BATCH`] events.
    async fn delete_due(&mut self) {
        let now = Instant::now();
        for _ in 0..BATCH {
            let Some(entry) = self.due.first_entry().filter(|entry| entry.get().0 <= now) else { break };
            let (revision, (_, key)) = (*entry.key(), entry.get());
            match self.store.delete(&self.collection, key, Some(revision)).await {
                // expiry.E2: deleted or written meanwhile, which the watch reports.
                Ok(_) | Err(WriteError::Conflict { .. }) => drop(entry.remove()),
                Err(error) => {
                    tracing::warn!("failed to delete expired event {key}; retrying in {RETRY:?}: {error}");
                    return sleep(RETRY).await;
                }
            }
        }
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{HistoryLimits, MemoryStore, Precondition, Unversioned};

    const TTL: Duration = Duration::from_secs(60);
    const SECOND: Duration = Duration::from_secs(1);

    struct World {
        store: Arc<MemoryStore>,
        stop: CancellationToken,
        task: tokio::task::JoinHandle<()>,
    }

    impl World {
        async fn start(limits: HistoryLimits) -> Self {
            let store = Arc::new(MemoryStore::new(limits));
            let stop = CancellationToken::new();
            let task = tokio::spawn(expire_events(store.clone(), TTL, stop.clone()));
            let world = Self { store, stop, task };
            world.settle().await;
            world
        }

        async fn write(&self, collection: &str, name: &str, note: &str) {
            let body = format!(r#"{{"metadata":{{"name":"{name}","namespace":"n"}},"message":"{note}"}}"#);
            let value = Unversioned::from_json(body.as_bytes()).unwrap();
            self.store.put(&collection.into(), value, Precondition::Any).await.unwrap();
        }

        async fn names(&self, collection: &str) -> Vec<String> {
            let range = self.store.range(RangeQuery::all(collection.into())).await.unwrap();
            range.items.iter().map(|stored| stored.key().name().to_owned()).collect()
        }

        /// Lets the task run until it waits.
        async fn settle(&self) {
            for _ in 0..10_000 {
                tokio::task::yield_now().await;
            }
        }

        async fn pass(&self, time: Duration) {
            self.settle().await;
            tokio::time::advance(time).await;
            self.settle().await;
        }

        async fn stop(self) {
            self.stop.cancel();
            self.task.await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_is_deleted_after_its_ttl_and_an_update_extends_it() {
        let world = World::start(HistoryLimits::default()).await;
        world.write(EVENTS, "old", "1").await;
        world.write(EVENTS, "renewed", "1").await;
        world.write("pods", "pod", "1").await;
        world.pass(TTL - SECOND).await;
        world.write(EVENTS, "renewed", "2").await;
        assert_eq!(world.names(EVENTS).await, ["old", "renewed"]);
        world.pass(SECOND).await;
        assert_eq!(world.names(EVENTS).await, ["renewed"]);
        world.pass(TTL - SECOND * 2).await;
        assert_eq!(world.names(EVENTS).await, ["renewed"]);
        world.pass(SECOND).await;
        assert_eq!(world.names(EVENTS).await, [""; 0]);
        assert_eq!(world.names("pods").await, ["pod"]);
        world.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_watcher_receives_the_deletion() {
        let world = World::start(HistoryLimits::default()).await;
        let after = world.store.current().await.unwrap();
        let query = WatchQuery { collection: EVENTS.into(), namespace: None, after };
        let mut watch = world.store.watch(query).await.unwrap();
        world.write(EVENTS, "a", "1").await;
        world.pass(TTL).await;
        let mut received = Vec::new();
        while received.len() < 2 {
            let events = watch.next().await.unwrap().unwrap();
            received.extend(
                events.iter().map(|event| (event.key().name().to_owned(), event.current().is_some())),
            );
        }
        assert_eq!(received, [("a".to_owned(), true), ("a".to_owned(), false)]);
        world.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_that_is_created_again_gets_a_full_ttl() {
        let world = World::start(HistoryLimits::default()).await;
        world.write(EVENTS, "a", "1").await;
        world.pass(TTL - SECOND).await;
        world.store.delete(&EVENTS.into(), &"n/a".parse().unwrap(), None).await.unwrap();
        world.write(EVENTS, "a", "2").await;
        world.pass(SECOND).await;
        assert_eq!(world.names(EVENTS).await, ["a"]);
        world.pass(TTL - SECOND).await;
        assert_eq!(world.names(EVENTS).await, [""; 0]);
        world.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_history_too_short_to_follow_loses_no_event() {
        let world = World::start(HistoryLimits { events: 4, ..Default::default() }).await;
        world.write(EVENTS, "first", "1").await;
        world.pass(SECOND).await;
        for number in 0..100 {
            world.write(EVENTS, &format!("e{number}"), "1").await; // without yielding: the watch lags
        }
        world.pass(TTL - SECOND).await;
        assert_eq!(world.names(EVENTS).await.len(), 100, "what was known keeps its time");
        world.pass(SECOND).await;
        assert_eq!(world.names(EVENTS).await, [""; 0]);
        world.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_hundred_thousand_events_take_one_entry_each_and_expire() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let mut expiry =
            Expiry { store: store.clone(), collection: EVENTS.into(), ttl: TTL, due: BTreeMap::new() };
        let put = async |name: String| {
            let body = format!(r#"{{"metadata":{{"name":"{name}","namespace":"n"}}}}"#);
            let value = Unversioned::from_json(body.as_bytes()).unwrap();
            store.put(&EVENTS.into(), value, Precondition::Any).await.unwrap();
        };
        for number in 0..100_000 {
            put(format!("e{number}")).await;
        }
        let mut watch = expiry.open().await.unwrap();
        for _ in 0..5 {
            put("e7".to_owned()).await; // one entry per event, not per write
        }
        for event in watch.next().await.unwrap().unwrap() {
            expiry.observe(&event);
        }
        assert_eq!(expiry.due.len(), 100_000);
        tokio::time::advance(TTL).await;
        expiry.delete_due().await;
        assert_eq!(expiry.due.len(), 100_000 - BATCH, "a step is a batch and no scan");
        while !expiry.due.is_empty() {
            expiry.delete_due().await;
        }
        assert!(store.range(RangeQuery::all(EVENTS.into())).await.unwrap().items.is_empty());
    }
}
