//! Subscription: a pull-based stream of coalesced changes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use watchkeeper_core::{Object, ObjectKey};

use super::{Filter, HandlerPanic, HandlerStats};
use crate::delta::{Delta, DeltaQueue, Transient};
use crate::lock::Mutex;
use crate::store::{Snapshot, Store, Subscriber};

/// Shorter resync periods are raised to this.
const MIN_RESYNC: Duration = Duration::from_secs(1);

/// The options of a [`Subscription`].
#[derive(Debug, Clone, Default)]
pub struct SubscriptionOptions {
    /// Selects the objects; all of them by default.
    pub filter: Filter,
    /// The name in metrics and dumps; empty by default.
    pub name: String,
    /// The resync period.
    pub resync: Resync,
    /// The treatment of objects that are added and deleted before the subscriber receives them.
    pub transient: Transient,
    /// Woken when there is something to [take](Subscription::take) and when the subscription ends; for callers that
    /// wait for several subscriptions at once. Called with a lock of the store held: must not block.
    pub waker: Option<Waker>,
}

/// The period after which all objects are delivered again as [`Delta::Resync`], without a request to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resync {
    /// The informer's default, which is never unless it was configured.
    #[default]
    Default,
    /// Never.
    Never,
    /// This period. Zero means never; other periods below a second are raised to one second.
    Every(Duration),
}

impl Resync {
    /// Returns `self`, or `default` if `self` is [`Resync::Default`].
    #[must_use]
    pub fn or(self, default: Self) -> Self {
        match self {
            Self::Default => default,
            decided => decided,
        }
    }

    fn period(self) -> Option<Duration> {
        match self {
            Self::Every(period) if !period.is_zero() => Some(period.max(MIN_RESYNC)),
            Self::Default | Self::Never | Self::Every(_) => None,
        }
    }
}

/// A stream of the changes of a store, coalesced by key.
///
/// # Guarantees
/// Delivers each existing object as an initial [`Delta::Added`], and then every change of a key in order. Changes that
/// the subscriber has not received yet are coalesced into at most two deltas for each key, so a slow subscriber skips
/// intermediate states and never misses the newest one. A delivered state is readable in the store before it is
/// received here.
///
/// # Threads
/// Each subscription has its own queue. A slow one delays neither the reflector nor other subscribers.
///
/// # Ending
/// Dropping it unsubscribes. While it exists, its informer keeps running. When the informer stops, pending changes are
/// still delivered, and then [`next`](Self::next) returns `None`.
///
/// ```no_run
/// # async fn example(pods: &watchkeeper_cache::Informer) {
/// let mut changes = pods.subscribe(Default::default());
/// while let Some(delta) = changes.next().await {
///     println!("{}", delta.newest().metadata.key());
/// }
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a subscription ends when it is dropped"]
pub struct Subscription {
    store: Store,
    queue: Arc<Queue>,
    resync: Option<ResyncTimer>,
    caught_up: watch::Sender<bool>,
    on_panic: Option<OnPanic>,
}

struct OnPanic(Box<dyn Fn(HandlerPanic) + Send>);

impl fmt::Debug for OnPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnPanic")
    }
}

#[derive(Debug)]
struct ResyncTimer {
    period: Duration,
    next: Instant,
}

/// The part that the store writes to.
#[derive(Debug)]
struct Queue {
    deltas: DeltaQueue<ObjectKey, Arc<Object>>,
    filter: Filter,
    name: Arc<str>,
    panics: AtomicU64,
    /// The queue position after the last initial object; `None` until the store is ready.
    initial: Mutex<Option<u64>>,
    ready: Notify,
    waker: Option<Waker>,
}

impl Subscriber for Queue {
    fn notify(&self, deltas: &[Delta<Arc<Object>>]) {
        let mut seen = deltas.iter().filter_map(|delta| self.filter.apply(delta)).peekable();
        if seen.peek().is_some() {
            self.deltas.push_all(seen.map(|delta| (delta.newest().metadata.key().clone(), delta)));
            self.wake();
        }
    }

    fn ready(&self) {
        *self.initial.lock() = Some(self.deltas.next_position());
        self.ready.notify_one();
        self.wake();
    }

    fn close(&self) {
        self.deltas.close();
        self.wake();
    }

    fn stats(&self) -> HandlerStats {
        HandlerStats {
            name: self.name.clone(),
            pending: self.deltas.len(),
            lag: self.lag(),
            coalesced: self.deltas.coalesced(),
            dropped: 0,
            panics: self.panics.load(Ordering::Relaxed),
        }
    }
}

impl Queue {
    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }

    fn lag(&self) -> Duration {
        self.deltas.waiting_since().map(|since| since.elapsed()).unwrap_or_default()
    }
}

impl Subscription {
    /// Subscribes to a store.
    pub fn new(store: &Store, options: SubscriptionOptions) -> Self {
        let new = Self::detached(store, options);
        store.subscribe(&new.queue);
        new
    }

    /// Sets a function that is called when a [`Handler`](super::Handler) of this subscription panics. By default the panic
    /// is logged.
    pub fn on_panic(mut self, report: impl Fn(HandlerPanic) + Send + 'static) -> Self {
        self.on_panic = Some(OnPanic(Box::new(report)));
        self
    }

    /// Takes a snapshot, and subscribes to the changes after it, atomically. If the existing objects were delivered as
    /// additions, one deleted before it is received could be coalesced away.
    pub(crate) fn since(store: &Store, options: SubscriptionOptions) -> (Snapshot, Self) {
        let new = Self::detached(store, options);
        (store.subscribe_since(&new.queue), new)
    }

    fn detached(store: &Store, options: SubscriptionOptions) -> Self {
        let queue = Arc::new(Queue {
            deltas: DeltaQueue::new(options.transient),
            filter: options.filter,
            name: options.name.into(),
            panics: AtomicU64::new(0),
            initial: Mutex::default(),
            ready: Notify::new(),
            waker: options.waker,
        });
        let resync = options.resync.period();
        let resync = resync.map(|period| ResyncTimer { period, next: Instant::now() + period });
        Self { store: store.clone(), queue, resync, caught_up: watch::Sender::new(false), on_panic: None }
    }

    /// Waits for the next change. Returns `None` once the informer has stopped and all changes were delivered.
    ///
    /// Calling it marks the previous change as handled. Cancel safe: if dropped, no change is lost.
    pub async fn next(&mut self) -> Option<Delta<Arc<Object>>> {
        loop {
            self.catch_up();
            let resync = async {
                match &self.resync {
                    Some(resync) => sleep_until(resync.next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = resync => self.resync_now(),
                () = self.queue.ready.notified() => {}
                popped = self.queue.deltas.pop() => return popped.map(|(_, delta)| delta),
            }
        }
    }

    /// Returns up to `most` pending changes without waiting. Returns `None` once the informer has stopped and all
    /// changes were delivered.
    ///
    /// Calling it marks the previous changes as handled. It ignores the resync period.
    pub fn take(&mut self, most: usize) -> Option<Vec<Delta<Arc<Object>>>> {
        self.catch_up();
        let taken = self.queue.deltas.take(most)?;
        Some(taken.into_iter().map(|(_, delta)| delta).collect())
    }

    /// Queues a [`Delta::Resync`] for every object without a pending change.
    pub fn resync(&self) {
        self.store.resync(&*self.queue);
    }

    /// Returns whether all objects of the first list have been handled.
    pub fn is_caught_up(&self) -> bool {
        *self.caught_up.borrow()
    }

    /// Returns a receiver that becomes true when all objects of the first list have been handled.
    pub fn caught_up(&self) -> watch::Receiver<bool> {
        self.caught_up.subscribe()
    }

    /// Returns the number of pending keys.
    pub fn pending(&self) -> usize {
        self.queue.deltas.len()
    }

    /// Returns the time that the oldest pending change has waited.
    pub fn lag(&self) -> Duration {
        self.queue.lag()
    }

    /// Returns the subscription's counters.
    pub fn stats(&self) -> HandlerStats {
        self.queue.stats()
    }

    /// Counts and reports a panic of the handler.
    pub(super) fn report_panic(&self, panic: HandlerPanic) {
        self.queue.panics.fetch_add(1, Ordering::Relaxed);
        match &self.on_panic {
            Some(OnPanic(report)) => report(panic),
            None => {
                let HandlerPanic { key, message } = panic;
                tracing::error!(%key, panic = message, "handler panicked; continuing with the next change");
            }
        }
    }

    fn catch_up(&self) {
        let Some(initial) = *self.queue.initial.lock() else { return };
        if !self.is_caught_up() && self.queue.deltas.first_position().is_none_or(|first| first >= initial) {
            self.caught_up.send_replace(true);
        }
    }

    fn resync_now(&mut self) {
        if let Some(resync) = &mut self.resync {
            resync.next = Instant::now() + resync.period;
        }
        self.resync();
    }
}
