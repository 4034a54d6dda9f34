//! Listeners: handlers of every sort, each with the history of what it was told.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use watchkeeper_cache::handler::{Filter, Handler, RawEvent, Resync, SubscriptionOptions};
use watchkeeper_cache::{Informer, delta::Delta};
use watchkeeper_core::{LabelSelector, Object};

use crate::checker::{Flaw, History};

/// What a handler says that panics on purpose.
pub(crate) const ON_PURPOSE: &str = "a handler panics on purpose";
/// The name of who came late.
pub(crate) const LATE: &str = "late";
/// How often every object is looked at again.
const RESYNC: Duration = Duration::from_secs(3);
/// More than ever wait: no event may be missed.
const EVENTS: usize = 1 << 20;

type Change = Delta<Arc<Object>>;

/// A handler and its history.
pub(crate) struct Listener {
    pub(crate) name: &'static str,
    /// It hears of no others.
    pub(crate) labels: LabelSelector,
    record: Arc<Record>,
    _hears: Hears,
}

#[expect(dead_code, reason = "held: dropped, they end")]
enum Hears {
    Handler(Handler),
    Loop(Ending),
}

/// A task that ends when it is dropped.
struct Ending(JoinHandle<()>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Default)]
struct Record {
    history: Mutex<History>,
    /// How many entries there are.
    entries: watch::Sender<u64>,
    /// Panics that happened, and those that were reported.
    panics: AtomicU64,
    reported: AtomicU64,
}

impl Record {
    /// Returns how many entries there are with this one.
    fn note(&self, change: &Change) -> u64 {
        let entries = {
            let mut history = self.history.lock().unwrap();
            history.note(change);
            history.entries
        };
        self.entries.send_replace(entries);
        entries
    }
}

impl Listener {
    /// One of each sort.
    pub(crate) fn all(informer: &Informer) -> Vec<Self> {
        vec![
            Self::quick(informer),
            Self::slow(informer),
            Self::panicking(informer),
            Self::raw_events(informer),
        ]
    }

    /// Begins to listen when others have long been told.
    pub(crate) fn late(informer: &Informer) -> Self {
        Self { name: LATE, ..Self::quick(informer) }
    }

    fn quick(informer: &Informer) -> Self {
        let record = Arc::<Record>::default();
        let heard = record.clone();
        let handler = Handler::start(informer.subscribe(SubscriptionOptions::default()), move |change| {
            heard.note(&change);
        });
        Self::new("quick", record, Hears::Handler(handler))
    }

    /// Falls behind now and then, so that what waits becomes one.
    fn slow(informer: &Informer) -> Self {
        let record = Arc::<Record>::default();
        let heard = record.clone();
        let subscription = informer.subscribe(SubscriptionOptions::default());
        let handler = Handler::start(subscription, move |change| {
            let count = heard.note(&change);
            Box::pin(async move {
                match count {
                    _ if count.is_multiple_of(500) => sleep(Duration::from_millis(400)).await,
                    _ if count.is_multiple_of(20) => sleep(Duration::from_millis(2)).await,
                    _ => {}
                }
            })
        });
        Self::new("slow", record, Hears::Handler(handler))
    }

    fn panicking(informer: &Informer) -> Self {
        let record = Arc::<Record>::default();
        let (heard, reported) = (record.clone(), record.clone());
        let subscription = informer.subscribe(SubscriptionOptions::default()).on_panic(move |panic| {
            assert_eq!(panic.message, ON_PURPOSE);
            reported.reported.fetch_add(1, Ordering::Relaxed);
        });
        let handler = Handler::start(subscription, move |change| {
            if heard.note(&change).is_multiple_of(100) {
                heard.panics.fetch_add(1, Ordering::Relaxed);
                std::panic::panic_any(ON_PURPOSE);
            }
        });
        Self::new("panicking", record, Hears::Handler(handler))
    }

    fn raw_events(informer: &Informer) -> Self {
        let record = Arc::<Record>::default();
        let heard = record.clone();
        let mut events = informer.raw_events(Filter::default(), EVENTS);
        let task = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                match event {
                    RawEvent::Event(change) => {
                        heard.note(&change);
                    }
                    RawEvent::Lagged(count) => panic!("{count} events of {EVENTS} that may wait were missed"),
                }
            }
        });
        Self::new("every event", record, Hears::Loop(Ending(task)))
    }

    /// Hears only of some objects, and looks at them again and again.
    pub(crate) fn filtering(informer: &Informer, labels: &LabelSelector) -> Self {
        let record = Arc::<Record>::default();
        let heard = record.clone();
        let options = SubscriptionOptions {
            filter: Filter::labels(labels.clone()),
            resync: Resync::Every(RESYNC),
            ..SubscriptionOptions::default()
        };
        let handler = Handler::start(informer.subscribe(options), move |change| {
            heard.note(&change);
        });
        let all = Self::new("filtering and resyncing", record, Hears::Handler(handler));
        Self { labels: labels.clone(), ..all }
    }

    fn new(name: &'static str, record: Arc<Record>, hears: Hears) -> Self {
        Self { name, labels: LabelSelector::default(), record, _hears: hears }
    }

    /// How many entries its history has.
    pub(crate) fn entries(&self) -> u64 {
        *self.record.entries.borrow()
    }

    /// Waits until who has followed has what the store has. Says what is missing where that does not happen in
    /// time, and what is wrong at once.
    pub(crate) async fn settle(&self, informer: &Informer, patience: Duration) -> Result<(), Flaw> {
        let mut entries = self.record.entries.subscribe();
        let now = informer.store().snapshot();
        let expected: Vec<_> = now.select(&self.labels, None);
        let settled = async {
            loop {
                entries.mark_unchanged();
                if self.judge(&expected).is_ok() {
                    return;
                }
                entries.changed().await.expect("the sender is the record's");
            }
        };
        // In time or not: what counts is what it comes to.
        let _ = tokio::time::timeout(patience, settled).await;
        self.judge(&expected)?;
        let history = self.record.history.lock().unwrap();
        match history.flaw() {
            Some(flaw) => Err(flaw.clone()),
            None => Ok(()),
        }
    }

    /// Whether every panic was reported.
    pub(crate) fn panics(&self) -> (u64, u64) {
        (self.record.panics.load(Ordering::Relaxed), self.record.reported.load(Ordering::Relaxed))
    }

    fn judge(&self, expected: &[Arc<Object>]) -> Result<(), Flaw> {
        let history = self.record.history.lock().unwrap();
        match history.flaw() {
            Some(_) => Ok(()), // nothing to wait for
            None => history.comes_to(expected.iter()),
        }
    }
}
