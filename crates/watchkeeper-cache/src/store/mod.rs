//! Indexed store: the newest known state of each object, and its index entries.
//!
//! Input:  the reflector, through the store's single [`Writer`].
//! Output: readers, through [`Snapshot`]s; handlers, through deltas.
//!
//! Invariants:
//! - `store.S1`: every index contains exactly the values of the objects in the store.
//! - `store.S2`: readers hold the state lock only to clone a pointer. A list that replaces all objects is built beside
//!   the current state and swapped in.
//! - `store.S3`: a change is readable in the store before a subscriber is notified of it.
//! - `store.S4`: a subscriber receives every existing object once, and then every change.

mod dump;
mod index;
mod indexer;
mod postings;
mod select;
mod sizes;
mod snapshot;
mod stage;
mod state;
mod table;
mod writer;

use std::any::Any;
use std::sync::{Arc, Weak};

use tokio::sync::Notify;
use watchkeeper_core::{Object, ResourceVersion};

use crate::delta::Delta;
use crate::handler::HandlerStats;
use crate::lock::Mutex;
use index::Index;
use state::State;

pub use dump::Dump;
pub use index::{IndexExists, NAMESPACE_INDEX, UnknownIndex, by_field, by_view};
pub use indexer::Indexer;
pub use sizes::Sizes;
pub use snapshot::Snapshot;
pub use writer::Writer;

/// A thread-safe, read-only view of a collection's objects, as encoded bytes with decoded metadata.
///
/// Only the [`Writer`] that [`Store::new`] returns beside it can change a store; an informer keeps that writer to
/// itself. Clones are cheap and refer to the same store. An informer keeps its store up to date while a clone of it, a
/// [reader](crate::Reader) or a [subscription](crate::handler::Subscription) exists, unless the informer is stopped.
///
/// # Consistency
/// A [`Snapshot`] is consistent: objects, indexes and version belong together, and a relist becomes visible as a whole.
/// Two snapshots taken one after the other never go backwards. The store trails the server; use
/// [`wait_for`](Self::wait_for) to read one's own write.
///
/// # Threads
/// Reading takes a lock for as long as it takes to clone a pointer. Writers never wait for readers, and holding a
/// snapshot blocks nobody. Handlers are notified of a change after it is readable here.
///
/// ```
/// use watchkeeper_cache::{Sink as _, Store};
/// use watchkeeper_core::{Encoded, ObjectMetaBuilder, Object};
///
/// let (store, mut writer) = Store::new();
/// store.add_index("zone", |object| object.metadata.label("zone").map(str::to_owned).into_iter().collect())?;
///
/// let metadata = ObjectMetaBuilder::default().name("node-1").version("7").label("zone", "east").finish();
/// writer.put(Object { metadata, encoded: Encoded::json(*b"{}") });
///
/// let now = store.snapshot();
/// assert_eq!(now.version(), &7.into());
/// assert_eq!(now.by_index("zone", "east")?.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
    /// Keeps the informer's task alive; dropped with the last clone.
    _keeper: Option<Arc<dyn Any + Send + Sync>>,
}

/// A weak reference to a store.
#[derive(Debug, Clone)]
pub(crate) struct WeakStore {
    shared: Weak<Shared>,
}

impl WeakStore {
    pub(crate) fn upgrade(&self) -> Option<Store> {
        Some(Store { shared: self.shared.upgrade()?, _keeper: None })
    }
}

/// A receiver of a store's changes.
pub(crate) trait Subscriber: Send + Sync {
    /// Delivers deltas, in order. Called with a lock held: must not block.
    fn notify(&self, deltas: &[Delta<Arc<Object>>]);

    /// Reports that the first list is in the store, and that all of it has been delivered.
    fn ready(&self);

    /// Reports that no more deltas follow.
    fn close(&self);

    /// Returns the subscriber's counters.
    fn stats(&self) -> HandlerStats;
}

struct Shared {
    /// Held to copy or swap the pointer, or to apply one change (`store.S2`). Taken after `subscribers`.
    state: Mutex<Arc<State>>,
    /// Held while a change is applied and delivered (`store.S3`, `store.S4`). Taken before `state`.
    subscribers: Mutex<Subscribers>,
    /// Notified after each change of the state.
    changed: Notify,
}

#[derive(Default)]
struct Subscribers {
    list: Vec<Weak<dyn Subscriber>>,
    is_ready: bool,
    is_closed: bool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state.lock();
        let mut shown = f.debug_struct("Store");
        shown
            .field("objects", &state.objects().len())
            .field("version", &state.version)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Creates an empty store and its writer.
    pub fn new() -> (Self, Writer) {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            subscribers: Mutex::default(),
            changed: Notify::new(),
        });
        (Self { shared: shared.clone(), _keeper: None }, Writer::new(shared))
    }

    /// Makes every clone of this handle keep `keeper` alive.
    pub(crate) fn kept_by(self, keeper: Arc<dyn Any + Send + Sync>) -> Self {
        Self { _keeper: Some(keeper), ..self }
    }

    /// Returns whether both handles refer to the same store.
    pub fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns all objects as they are now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.shared.state.lock().clone())
    }

    /// Adds an index, and fills it from the objects already in the store. Blocks writers, not readers, until it is
    /// built. The [`NAMESPACE_INDEX`] exists without being added.
    ///
    /// `values` returns the index values of an object. It runs on the writer's thread, and must be deterministic.
    /// [`by_field`] and [`by_view`] create such functions.
    ///
    /// # Errors
    /// If an index with this name exists.
    pub fn add_index(
        &self,
        name: &str,
        values: impl Fn(&Object) -> Vec<String> + Send + Sync + 'static,
    ) -> Result<(), IndexExists> {
        if name == NAMESPACE_INDEX {
            return Err(IndexExists { name: name.to_owned() });
        }
        let _writes_blocked = self.shared.subscribers.lock();
        let mut next = State::clone(&self.shared.state.lock());
        next.table.add_index(Index::new(name, values))?;
        *self.shared.state.lock() = Arc::new(next);
        Ok(())
    }

    /// Returns whether the first list is in the store.
    pub fn is_ready(&self) -> bool {
        self.shared.subscribers.lock().is_ready
    }

    /// Waits until the first list is in the store. Cancel safe.
    pub async fn wait_until_ready(&self) {
        self.until(|| self.is_ready()).await;
    }

    /// Waits until the store has reached a resource version, so that a write with this version, or a newer state, can be
    /// read. A version that cannot be ordered has to be matched exactly. Cancel safe.
    pub async fn wait_for(&self, version: &ResourceVersion) {
        self.until(|| {
            let current = &self.shared.state.lock().version;
            match current.compare(version) {
                Ok(order) => order.is_ge(),
                Err(_) => current == version,
            }
        })
        .await;
    }

    pub(crate) fn downgrade(&self) -> WeakStore {
        WeakStore { shared: Arc::downgrade(&self.shared) }
    }

    /// Returns a printable view of the store, for debugging.
    pub fn dump(&self) -> Dump {
        let (is_ready, state) = (self.is_ready(), self.snapshot());
        Dump { title: None, is_ready, state, handlers: self.handlers(), bodies: None }
    }

    /// Returns the counters of every handler and subscription.
    pub fn handlers(&self) -> Vec<HandlerStats> {
        let all: Vec<_> = self.shared.subscribers.lock().list.iter().filter_map(Weak::upgrade).collect();
        all.iter().map(|subscriber| subscriber.stats()).collect()
    }

    /// Delivers the existing objects to a subscriber, and then every change.
    pub(crate) fn subscribe(&self, subscriber: &Arc<impl Subscriber + 'static>) {
        let mut subscribers = self.shared.subscribers.lock();
        subscriber.notify(&self.present(|new| Delta::Added { new, initial: true }));
        subscribers.add(subscriber);
    }

    /// Returns the existing objects, and delivers every later change to a subscriber.
    pub(crate) fn subscribe_since(&self, subscriber: &Arc<impl Subscriber + 'static>) -> Snapshot {
        let mut subscribers = self.shared.subscribers.lock();
        subscribers.add(subscriber);
        self.snapshot()
    }

    /// Delivers every object to a subscriber as a resync. Writers are blocked meanwhile, so that each resync matches the
    /// last state the subscriber received, or one that is queued before it.
    pub(crate) fn resync(&self, subscriber: &impl Subscriber) {
        let _writes_blocked = self.shared.subscribers.lock();
        subscriber.notify(&self.present(Delta::Resync));
    }

    fn present(&self, delta: impl Fn(Arc<Object>) -> Delta<Arc<Object>>) -> Vec<Delta<Arc<Object>>> {
        let state = self.shared.state.lock().clone();
        state.objects().iter().map(|(_, object)| delta(object.clone())).collect()
    }

    async fn until(&self, condition: impl Fn() -> bool) {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if condition() {
                return;
            }
            changed.await;
        }
    }
}

impl Subscribers {
    fn add(&mut self, subscriber: &Arc<impl Subscriber + 'static>) {
        if self.is_ready {
            subscriber.ready();
        }
        if self.is_closed {
            subscriber.close();
        }
        let subscriber: Weak<dyn Subscriber> = Arc::downgrade(subscriber) as Weak<dyn Subscriber>;
        self.list.push(subscriber);
    }

    /// Delivers deltas to every subscriber, and drops those that no longer exist.
    fn notify(&mut self, deltas: &[Delta<Arc<Object>>]) {
        self.list.retain(|subscriber| match subscriber.upgrade() {
            Some(subscriber) => {
                subscriber.notify(deltas);
                true
            }
            None => false,
        });
    }
}
