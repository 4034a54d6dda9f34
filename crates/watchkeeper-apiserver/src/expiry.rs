//! Expiry: events that have had their time.
//!
//! From: the store, as a watcher of its events.
//! To:   the store: a deletion a time, which watchers hear of like any other.
//!
//! On the real server every write of an event gives it a new lease of etcd, so that an update prolongs it
//! and an update that changes nothing does not; what holds an object otherwise, finalizers say, does not
//! hold it against the end of its lease. So it is here. The real server shares a lease among the writes
//! of a minute, so that an event can stay up to a twentieth longer there, a minute at most; here it goes
//! on time.
//!
//! How many events there are at once is bounded by nothing but the time that they have: a client that
//! writes 1,000 a second has 3.6 million after an hour. What is kept here of each is its key and its time.
//!
//! - E1: `due` has one entry for each event that is stored and known of, at the revision of its last
//!   write. As all live equally long, the order of revisions is the order of ends.
//! - E2: an event is deleted only at the revision that was known: who writes it meanwhile prolongs it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use watchkeeper_core::ObjectKey;

use crate::http::parse_duration;
use crate::store::{
    BoxWatch, Collection, Event, RangeQuery, Revision, Store, Stored, WatchQuery, WriteError,
};

/// How long an event stays after it was last written, unless somebody says otherwise.
pub const EVENT_TTL: Duration = Duration::from_secs(3600);

/// The longest time, so that no clock overflows.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Where the events of both groups are stored.
const EVENTS: &str = "events";

/// How long it waits where the store cannot be reached.
const RETRY: Duration = Duration::from_secs(1);

/// How many are deleted before others may go on.
const BATCH: usize = 256;

/// Reads the time that events are to have as the flag of the real server is read: `1h`, `90m`, `1h30m`.
///
/// ```
/// use std::time::Duration;
/// use watchkeeper_apiserver::expiry::parse_ttl;
///
/// assert_eq!(parse_ttl("1h30m"), Ok(Duration::from_secs(5400)));
/// assert_eq!(parse_ttl("5x").unwrap_err(), r#"time: unknown unit "x" in duration "5x""#);
/// ```
///
/// # Errors
/// What is wrong, in Go's words.
pub fn parse_ttl(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        (true, time) if !time.is_zero() => Err("events cannot be gone before they are there".to_owned()),
        (_, time) => Ok(time),
    }
}

/// Deletes events as their time comes, until `stop` is cancelled. Those that are there at the beginning
/// have all their time before them.
pub(crate) async fn expire_events(store: Arc<dyn Store>, ttl: Duration, stop: CancellationToken) {
    let ttl = ttl.min(LONGEST);
    let mut expiry = Expiry { store, collection: EVENTS.into(), ttl, due: BTreeMap::new() };
    stop.run_until_cancelled(expiry.run()).await;
}

struct Expiry {
    store: Arc<dyn Store>,
    collection: Collection,
    ttl: Duration,
    /// E1.
    due: BTreeMap<Revision, (Instant, ObjectKey)>,
}

impl Expiry {
    async fn run(&mut self) {
        loop {
            if let Some(mut watch) = self.open().await {
                self.follow(&mut watch).await;
            } else {
                sleep(RETRY).await;
            }
        }
    }

    /// Learns of what there is, and watches from there. What was known keeps its time.
    async fn open(&mut self) -> Option<BoxWatch> {
        let range = self.store.range(RangeQuery::all(self.collection.clone())).await.ok()?;
        let mut known = std::mem::take(&mut self.due);
        for stored in &range.items {
            match known.remove_entry(&stored.modified()) {
                Some((revision, end)) => drop(self.due.insert(revision, end)),
                None => self.written(stored),
            }
        }
        let query =
            WatchQuery { collection: self.collection.clone(), namespace: None, after: range.revision };
        self.store.watch(query).await.ok()
    }

    /// Keeps up with the store and deletes what is due, until the watch ends: it broke, or was too slow.
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
                    Some(Ok(events)) => events.iter().for_each(|event| self.told(event)),
                    Some(Err(_)) | None => return,
                },
                () = due => self.delete_due().await,
            }
        }
    }

    fn told(&mut self, event: &Event) {
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

    /// Deletes what is due, a batch at most.
    async fn delete_due(&mut self) {
        let now = Instant::now();
        for _ in 0..BATCH {
            let Some(entry) = self.due.first_entry().filter(|entry| entry.get().0 <= now) else { break };
            let (revision, (_, key)) = (*entry.key(), entry.get());
            match self.store.delete(&self.collection, key, Some(revision)).await {
                // E2: gone, or written meanwhile, of which the watch tells.
                Ok(_) | Err(WriteError::Conflict { .. }) => drop(entry.remove()),
                Err(_) => return sleep(RETRY).await,
            }
        }
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Expect, HistoryLimits, MemoryStore, Unversioned};

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
            self.store.put(&collection.into(), value, Expect::Any).await.unwrap();
        }

        async fn names(&self, collection: &str) -> Vec<String> {
            let range = self.store.range(RangeQuery::all(collection.into())).await.unwrap();
            range.items.iter().map(|stored| stored.key().name().to_owned()).collect()
        }

        /// Lets the task do all that it can do by now.
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
    async fn an_event_goes_when_its_time_is_over_and_an_update_prolongs_it() {
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
    async fn a_watcher_is_told_of_the_end() {
        let world = World::start(HistoryLimits::default()).await;
        let after = world.store.current().await.unwrap();
        let query = WatchQuery { collection: EVENTS.into(), namespace: None, after };
        let mut watch = world.store.watch(query).await.unwrap();
        world.write(EVENTS, "a", "1").await;
        world.pass(TTL).await;
        let mut told = Vec::new();
        while told.len() < 2 {
            let events = watch.next().await.unwrap().unwrap();
            told.extend(
                events.iter().map(|event| (event.key().name().to_owned(), event.current().is_some())),
            );
        }
        assert_eq!(told, [("a".to_owned(), true), ("a".to_owned(), false)]);
        world.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_deleted_before_its_time_can_come_again_and_has_all_of_it() {
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
    async fn a_history_that_is_too_short_to_follow_loses_no_event() {
        let world = World::start(HistoryLimits { events: 4, ..Default::default() }).await;
        world.write(EVENTS, "first", "1").await;
        world.pass(SECOND).await;
        for number in 0..100 {
            world.write(EVENTS, &format!("e{number}"), "1").await; // without a pause: the watch lags
        }
        world.pass(TTL - SECOND).await;
        assert_eq!(world.names(EVENTS).await.len(), 100, "what was known keeps its time");
        world.pass(SECOND).await;
        assert_eq!(world.names(EVENTS).await, [""; 0]);
        world.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_hundred_thousand_events_cost_an_entry_each_and_go() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let mut expiry =
            Expiry { store: store.clone(), collection: EVENTS.into(), ttl: TTL, due: BTreeMap::new() };
        let put = async |name: String| {
            let body = format!(r#"{{"metadata":{{"name":"{name}","namespace":"n"}}}}"#);
            let value = Unversioned::from_json(body.as_bytes()).unwrap();
            store.put(&EVENTS.into(), value, Expect::Any).await.unwrap();
        };
        for number in 0..100_000 {
            put(format!("e{number}")).await;
        }
        let mut watch = expiry.open().await.unwrap();
        for _ in 0..5 {
            put("e7".to_owned()).await; // one entry, however often it is written
        }
        for event in watch.next().await.unwrap().unwrap() {
            expiry.told(&event);
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
