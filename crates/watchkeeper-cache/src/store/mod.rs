//! Store: the newest state of every object, indexed.
//!
//! From: the reflector, by the one [`Writer`].
//! To:   readers, by [`Snapshot`]s; handlers, by deltas.
//!
//! - S1: every index has exactly the values of the objects that are there.
//! - S2: a reader takes the lock to copy a few pointers, and so holds up nobody; a list that replaces all objects
//!   is built beside the store and takes its place in one step.
//! - S3: who hears of a change finds it in the store, or a newer state.
//! - S4: who subscribes hears of every object once, and then of every change.

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
use crate::handler::Figures;
use crate::lock::Mutex;
use index::Index;
use state::State;

pub use dump::Dump;
pub use index::{ByField, ByView, IndexBy, IndexExists, UnknownIndex};
pub use indexer::Indexer;
pub use sizes::Sizes;
pub use snapshot::Snapshot;
pub use writer::Writer;

/// The objects of a collection, for reading. Clones are of the same store.
///
/// The store of an informer stays up to date for as long as a clone of it exists, or a reader or subscription made from
/// it: only stopping the informer ends that earlier.
///
/// ```
/// use watchkeeper_cache::{Sink as _, Store};
/// use watchkeeper_core::{Encoded, ObjectMetaBuilder, Object};
///
/// let (store, mut writer) = Store::new();
/// store.add_index("zone", |object: &Object| object.metadata.label("zone").map(str::to_owned).into_iter().collect())?;
///
/// let head = ObjectMetaBuilder::default().name("node-1").version("7").label("zone", "east").finish();
/// writer.put(Object { metadata: head, encoded: Encoded::json(*b"{}") });
///
/// let now = store.snapshot();
/// assert_eq!(now.version(), &7.into());
/// assert_eq!(now.by_index("zone", "east")?.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
    /// Dropped with the last clone; an informer that runs is kept by it.
    _keeper: Option<Arc<dyn Any + Send + Sync>>,
}

/// A store that may be gone.
#[derive(Debug, Clone)]
pub(crate) struct WeakStore {
    shared: Weak<Shared>,
}

impl WeakStore {
    pub(crate) fn upgrade(&self) -> Option<Store> {
        Some(Store { shared: self.shared.upgrade()?, _keeper: None })
    }
}

/// Who hears of changes.
pub(crate) trait Subscriber: Send + Sync {
    /// What has happened, in order. Must not wait.
    fn hear(&self, deltas: &[Delta<Arc<Object>>]);

    /// The first list is in the store, and all of it was heard.
    fn synced(&self);

    /// There will be no more.
    fn ended(&self);

    /// How it is doing.
    fn figures(&self) -> Figures;
}

struct Shared {
    /// Held for as long as it takes to copy or to swap the pointer, or to change a state (S2).
    state: Mutex<Arc<State>>,
    /// Held while a change is made and told (S3, S4). Always taken before the state.
    telling: Mutex<Telling>,
    /// Whenever the state has changed.
    changed: Notify,
}

#[derive(Default)]
struct Telling {
    subscribers: Vec<Weak<dyn Subscriber>>,
    is_synced: bool,
    has_ended: bool,
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
    /// An empty store, and what writes to it.
    pub fn new() -> (Self, Writer) {
        let shared =
            Arc::new(Shared { state: Mutex::default(), telling: Mutex::default(), changed: Notify::new() });
        (Self { shared: shared.clone(), _keeper: None }, Writer::new(shared))
    }

    /// Has every clone of this handle keep something alive.
    pub(crate) fn kept_by(self, keeper: Arc<dyn Any + Send + Sync>) -> Self {
        Self { _keeper: Some(keeper), ..self }
    }

    /// Whether both are of the same store.
    pub fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// All objects as they are now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.shared.state.lock().clone())
    }

    /// Adds a way to find objects, also of those that are there already. While it is built nothing is written.
    ///
    /// # Errors
    /// If there is one of this name.
    pub fn add_index(&self, name: &str, by: impl IndexBy<Object> + 'static) -> Result<(), IndexExists> {
        let _telling = self.shared.telling.lock();
        let mut next = State::clone(&self.shared.state.lock());
        next.table.add_index(Index::new(name, by))?;
        *self.shared.state.lock() = Arc::new(next);
        Ok(())
    }

    /// Whether the first list is in the store.
    pub fn is_synced(&self) -> bool {
        self.shared.telling.lock().is_synced
    }

    /// Waits until the first list is in the store.
    pub async fn synced(&self) {
        self.until(|| self.is_synced()).await;
    }

    /// Waits until the store has seen a version: what was written with it can be read then, or something newer.
    /// A version that cannot be compared is waited for as it is.
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

    /// All that is known of it, as a text.
    pub fn dump(&self) -> Dump {
        let (is_synced, state) = (self.is_synced(), self.snapshot());
        Dump { title: None, is_synced, state, handlers: self.handlers(), bodies: None }
    }

    /// How those are doing who hear of its changes.
    pub fn handlers(&self) -> Vec<Figures> {
        let all: Vec<_> = self.shared.telling.lock().subscribers.iter().filter_map(Weak::upgrade).collect();
        all.iter().map(|subscriber| subscriber.figures()).collect()
    }

    /// Has somebody hear of everything: first of what is there now, then of what changes.
    pub(crate) fn subscribe(&self, subscriber: &Arc<impl Subscriber + 'static>) {
        let mut telling = self.shared.telling.lock();
        subscriber.hear(&self.present(|new| Delta::Added { new, initial: true }));
        telling.admit(subscriber);
    }

    /// Has somebody hear of what changes from now on, and returns what there is now.
    pub(crate) fn subscribe_since(&self, subscriber: &Arc<impl Subscriber + 'static>) -> Snapshot {
        let mut telling = self.shared.telling.lock();
        telling.admit(subscriber);
        self.snapshot()
    }

    /// Has somebody look again at everything that is there. Nothing changes meanwhile: what he is told of is what he
    /// knows, or will hear of before.
    pub(crate) fn resync(&self, subscriber: &impl Subscriber) {
        let _telling = self.shared.telling.lock();
        subscriber.hear(&self.present(Delta::Resync));
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

impl Telling {
    fn admit(&mut self, subscriber: &Arc<impl Subscriber + 'static>) {
        if self.is_synced {
            subscriber.synced();
        }
        if self.has_ended {
            subscriber.ended();
        }
        let subscriber: Weak<dyn Subscriber> = Arc::downgrade(subscriber) as Weak<dyn Subscriber>;
        self.subscribers.push(subscriber);
    }

    fn tell(&mut self, deltas: &[Delta<Arc<Object>>]) {
        self.subscribers.retain(|subscriber| match subscriber.upgrade() {
            Some(subscriber) => {
                subscriber.hear(deltas);
                true
            }
            None => false,
        });
    }
}
