//! Subscription: changes, one after the other, for who asks for the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use watchkeeper_core::{Object, ObjectKey};

use super::{Figures, Filter};
use crate::delta::{Delta, DeltaQueue, Transient};
use crate::lock::Mutex;
use crate::store::{Snapshot, Store, Subscriber};

/// A resync is not asked for more often than this.
const SHORTEST_RESYNC: Duration = Duration::from_secs(1);

/// How one subscribes.
#[derive(Debug, Clone, Default)]
pub struct SubscriptionOptions {
    /// Of which objects.
    pub filter: Filter,
    /// What the subscription is called in metrics and dumps; nothing by default.
    pub name: String,
    /// How often every object is looked at again, changed or not.
    pub resync: Resync,
    /// What becomes of an object that is added and deleted before the subscriber looks.
    pub transient: Transient,
    /// Woken whenever there is something to [take](Subscription::take), and when there is no more: for who waits for
    /// several subscriptions at once. It is called while the store tells of a change, and must not wait.
    pub waker: Option<Waker>,
}

/// How often every object is looked at again, changed or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resync {
    /// As the informer has it by default, and if it has nothing, never.
    #[default]
    Default,
    /// Never, whatever the informer has.
    Never,
    /// This often. Shorter than a second is a second, except that zero is never.
    Every(Duration),
}

impl Resync {
    /// This one, or the other where it leaves it open.
    #[must_use]
    pub fn or(self, default: Self) -> Self {
        match self {
            Self::Default => default,
            decided => decided,
        }
    }

    fn period(self) -> Option<Duration> {
        match self {
            Self::Every(period) if !period.is_zero() => Some(period.max(SHORTEST_RESYNC)),
            Self::Default | Self::Never | Self::Every(_) => None,
        }
    }
}

/// All objects, and then every change of them. Where several changes wait they become one.
///
/// Dropped, it ends. While it exists, the informer it came from keeps running.
#[derive(Debug)]
#[must_use = "a subscription ends when it is dropped"]
pub struct Subscription {
    store: Store,
    queue: Arc<Queue>,
    resync: Option<Again>,
    caught_up: watch::Sender<bool>,
}

#[derive(Debug)]
struct Again {
    period: Duration,
    next: Instant,
}

/// What the store writes to.
#[derive(Debug)]
struct Queue {
    deltas: DeltaQueue<ObjectKey, Arc<Object>>,
    filter: Filter,
    name: Arc<str>,
    panics: AtomicU64,
    /// All that was there at the beginning is before this place; `None` while that is not known.
    initial: Mutex<Option<u64>>,
    synced: Notify,
    waker: Option<Waker>,
}

impl Subscriber for Queue {
    fn hear(&self, deltas: &[Delta<Arc<Object>>]) {
        let mut seen = deltas.iter().filter_map(|delta| self.filter.seen(delta)).peekable();
        if seen.peek().is_some() {
            self.deltas.push_all(seen.map(|delta| (delta.newest().metadata.key().clone(), delta)));
            self.wake();
        }
    }

    fn synced(&self) {
        *self.initial.lock() = Some(self.deltas.next_place());
        self.synced.notify_one();
        self.wake();
    }

    fn ended(&self) {
        self.deltas.close();
        self.wake();
    }

    fn figures(&self) -> Figures {
        Figures {
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
    /// Of a store.
    pub fn new(store: &Store, options: SubscriptionOptions) -> Self {
        let new = Self::of_nothing(store, options);
        store.subscribe(&new.queue);
        new
    }

    /// What there is now, and every change of it from now on. With the objects told one by one, one that goes before
    /// that would not be told of.
    pub(crate) fn since(store: &Store, options: SubscriptionOptions) -> (Snapshot, Self) {
        let new = Self::of_nothing(store, options);
        (store.subscribe_since(&new.queue), new)
    }

    fn of_nothing(store: &Store, options: SubscriptionOptions) -> Self {
        let queue = Arc::new(Queue {
            deltas: DeltaQueue::new(options.transient),
            filter: options.filter,
            name: options.name.into(),
            panics: AtomicU64::new(0),
            initial: Mutex::default(),
            synced: Notify::new(),
            waker: options.waker,
        });
        let resync = options.resync.period();
        let resync = resync.map(|period| Again { period, next: Instant::now() + period });
        Self { store: store.clone(), queue, resync, caught_up: watch::Sender::new(false) }
    }

    /// The next change; waits for one. `None` once the store gets no more. What was returned before counts as
    /// handled.
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
                () = resync => self.look_again(),
                () = self.queue.synced.notified() => {}
                popped = self.queue.deltas.pop() => return popped.map(|(_, delta)| delta),
            }
        }
    }

    /// The changes that wait, at most so many, without waiting for any; `None` once the store gets no more. What was
    /// returned before counts as handled. Nobody is asked to look again by the time that has passed.
    pub fn take(&mut self, most: usize) -> Option<Vec<Delta<Arc<Object>>>> {
        self.catch_up();
        let taken = self.queue.deltas.take(most)?;
        Some(taken.into_iter().map(|(_, delta)| delta).collect())
    }

    /// Has every object looked at again now, but for those of which something is pending.
    pub fn resync(&self) {
        self.store.resync(&*self.queue);
    }

    /// Whether all that was there at the beginning has been handled.
    pub fn is_caught_up(&self) -> bool {
        *self.caught_up.borrow()
    }

    /// Becomes true when all that was there at the beginning has been handled.
    pub fn caught_up(&self) -> watch::Receiver<bool> {
        self.caught_up.subscribe()
    }

    /// How many keys wait.
    pub fn pending(&self) -> usize {
        self.queue.deltas.len()
    }

    /// How long the key has waited that is next: how far this handler is behind.
    pub fn lag(&self) -> Duration {
        self.queue.lag()
    }

    /// How it is doing.
    pub fn figures(&self) -> Figures {
        self.queue.figures()
    }

    /// Its handler has panicked.
    pub(super) fn has_panicked(&self) {
        self.queue.panics.fetch_add(1, Ordering::Relaxed);
    }

    fn catch_up(&self) {
        let Some(initial) = *self.queue.initial.lock() else { return };
        if !self.is_caught_up() && self.queue.deltas.first_place().is_none_or(|first| first >= initial) {
            self.caught_up.send_replace(true);
        }
    }

    fn look_again(&mut self) {
        if let Some(resync) = &mut self.resync {
            resync.next = Instant::now() + resync.period;
        }
        self.resync();
    }
}
