//! Handlers of several kinds, each of which records the notifications that it receives.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use watchkeeper_cache::handler::{Filter, Handler, RawEvent, Resync, SubscriptionOptions};
use watchkeeper_cache::{Informer, delta::Delta};
use watchkeeper_core::{LabelSelector, Object};

use crate::checker::{History, Violation};

/// Payload of the panics that the panicking handler raises.
pub(crate) const DELIBERATE_PANIC: &str = "deliberate panic of a handler";
/// Name of the handler that subscribes in the middle of a round.
pub(crate) const LATE: &str = "late";
/// Resync period of the filtering handler.
const RESYNC: Duration = Duration::from_secs(3);
/// Capacity of the raw event queue: large enough that it never lags.
const RAW_EVENTS: usize = 1 << 20;

type Notification = Delta<Arc<Object>>;

/// A handler and the history of its notifications.
pub(crate) struct RecordingHandler {
    pub(crate) name: &'static str,
    /// The handler's filter.
    pub(crate) labels: LabelSelector,
    record: Arc<Record>,
    _running: Running,
}

#[expect(dead_code, reason = "held: dropping it stops the handler")]
enum Running {
    Handler(Handler),
    Task(AbortOnDrop),
}

/// A task that is aborted on drop.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Default)]
struct Record {
    history: Mutex<History>,
    /// Number of notifications in the history.
    notifications: watch::Sender<u64>,
    /// Number of panics raised.
    panics: AtomicU64,
    /// Number of panics passed to `on_panic`.
    reported_panics: AtomicU64,
}

impl Record {
    /// Records a notification. Returns the number of notifications so far.
    fn push(&self, notification: &Notification) -> u64 {
        let notifications = {
            let mut history = self.history.lock().unwrap();
            history.push(notification);
            history.notifications
        };
        self.notifications.send_replace(notifications);
        notifications
    }
}

impl RecordingHandler {
    /// Starts one handler of each kind that receives all objects.
    pub(crate) fn all(informer: &Informer) -> Vec<Self> {
        vec![
            Self::quick(informer),
            Self::slow(informer),
            Self::panicking(informer),
            Self::raw_events(informer),
        ]
    }

    /// A handler to subscribe after the informer has become ready.
    pub(crate) fn late(informer: &Informer) -> Self {
        Self { name: LATE, ..Self::quick(informer) }
    }

    fn quick(informer: &Informer) -> Self {
        let record = Arc::<Record>::default();
        let received = record.clone();
        let options = SubscriptionOptions::default();
        let handler = Handler::start(informer.subscribe(options), move |notification| {
            received.push(&notification);
        });
        Self::new("quick", record, Running::Handler(handler))
    }

    /// Falls behind from time to time, so that queued deltas of a key are merged.
    fn slow(informer: &Informer) -> Self {
        let record = Arc::<Record>::default();
        let received = record.clone();
        let subscription = informer.subscribe(SubscriptionOptions::default());
        let handler = Handler::start(subscription, move |notification| {
            let count = received.push(&notification);
            Box::pin(async move {
                match count {
                    _ if count.is_multiple_of(500) => sleep(Duration::from_millis(400)).await,
                    _ if count.is_multiple_of(20) => sleep(Duration::from_millis(2)).await,
                    _ => {}
                }
            })
        });
        Self::new("slow", record, Running::Handler(handler))
    }

    fn panicking(informer: &Informer) -> Self {
        let record = Arc::<Record>::default();
        let (received, reported) = (record.clone(), record.clone());
        let subscription = informer.subscribe(SubscriptionOptions::default()).on_panic(move |panic| {
            assert_eq!(panic.message, DELIBERATE_PANIC);
            reported.reported_panics.fetch_add(1, Ordering::Relaxed);
        });
        let handler = Handler::start(subscription, move |notification| {
            if received.push(&notification).is_multiple_of(100) {
                received.panics.fetch_add(1, Ordering::Relaxed);
                std::panic::panic_any(DELIBERATE_PANIC);
            }
        });
        Self::new("panicking", record, Running::Handler(handler))
    }

    fn raw_events(informer: &Informer) -> Self {
        let record = Arc::<Record>::default();
        let received = record.clone();
        let mut events = informer.raw_events(Filter::default(), RAW_EVENTS);
        let task = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                match event {
                    RawEvent::Event(notification) => {
                        received.push(&notification);
                    }
                    RawEvent::Lagged(count) => {
                        panic!("lagged by {count} events despite a capacity of {RAW_EVENTS}");
                    }
                }
            }
        });
        Self::new("raw events", record, Running::Task(AbortOnDrop(task)))
    }

    /// Receives only objects with these labels, and resyncs periodically.
    pub(crate) fn filtering(informer: &Informer, labels: &LabelSelector) -> Self {
        let record = Arc::<Record>::default();
        let received = record.clone();
        let options = SubscriptionOptions {
            filter: Filter::labels(labels.clone()),
            resync: Resync::Every(RESYNC),
            ..SubscriptionOptions::default()
        };
        let handler = Handler::start(informer.subscribe(options), move |notification| {
            received.push(&notification);
        });
        let unfiltered = Self::new("filtering and resyncing", record, Running::Handler(handler));
        Self { labels: labels.clone(), ..unfiltered }
    }

    fn new(name: &'static str, record: Arc<Record>, running: Running) -> Self {
        Self { name, labels: LabelSelector::default(), record, _running: running }
    }

    /// Returns the number of notifications received.
    pub(crate) fn notifications(&self) -> u64 {
        *self.record.notifications.borrow()
    }

    /// Waits until the notifications add up to the store's contents. Fails on the first violation in the history, or
    /// if something is still missing after `patience`.
    pub(crate) async fn settle(&self, informer: &Informer, patience: Duration) -> Result<(), Violation> {
        let mut notifications = self.record.notifications.subscribe();
        let snapshot = informer.store().snapshot();
        let expected: Vec<_> = snapshot.select(&self.labels, None);
        let settled = async {
            loop {
                notifications.mark_unchanged();
                if self.check_complete(&expected).is_ok() {
                    return;
                }
                notifications.changed().await.expect("the record owns the sender");
            }
        };
        // The check below decides, whether or not this timed out.
        let _ = tokio::time::timeout(patience, settled).await;
        self.check_complete(&expected)?;
        let history = self.record.history.lock().unwrap();
        match history.violation() {
            Some(violation) => Err(violation.clone()),
            None => Ok(()),
        }
    }

    /// Returns the number of panics raised, and of panics reported to `on_panic`.
    pub(crate) fn panics(&self) -> (u64, u64) {
        (self.record.panics.load(Ordering::Relaxed), self.record.reported_panics.load(Ordering::Relaxed))
    }

    fn check_complete(&self, expected: &[Arc<Object>]) -> Result<(), Violation> {
        let history = self.record.history.lock().unwrap();
        match history.violation() {
            Some(_) => Ok(()), // `settle` reports it: stop waiting
            None => history.check_complete(expected.iter()),
        }
    }
}
