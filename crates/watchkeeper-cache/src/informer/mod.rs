//! Informer: a shared, continuously updated copy of a collection.
//!
//! Input:  a [`ListWatch`].
//! Output: any number of readers and handlers, added before or after the start.
//!
//! Invariants:
//! - `informer.I1`: an informer has one reflector and one store, independent of the number of readers and handlers.
//! - `informer.I2`: only the first [`start`](Informer::start) has an effect, and none after [`stop`](Informer::stop). The
//!   store stays readable.
//! - `informer.I3`: a started informer runs until `stop`, which returns when its task has ended. It also ends when its
//!   last clone, reader, subscription and handler is gone.

mod builder;
mod exit;
mod factory;
mod factory_builder;
mod life;
mod not_ready;

use std::sync::Arc;

use tokio::sync::{Notify, watch};
use watchkeeper_core::{Collection, ListWatch, Object};
use watchkeeper_wire::Kind;

use crate::handler::{Filter, RawEvents, Resync, Subscription, SubscriptionOptions};
use crate::lock::Mutex;
use crate::metrics::InformerMetrics;
use crate::reader::{Keep, Reader};
use crate::reflector::{ExitReason, Progress, Reflector};
use crate::store::{Dump, IndexExists, Snapshot, Store, Writer};

pub use builder::InformerBuilder;
use exit::{ExitGuard, OnExit};
pub use exit::{InformerExited, InformerExits};
pub use factory::InformerFactory;
pub use factory_builder::FactoryBuilder;
use life::Life;
pub use not_ready::{NotReady, UnreadyCause, UnreadyInformer};

/// A shared, eventually consistent copy of a collection; client-go's `SharedIndexInformer`.
///
/// An informer lists a collection, watches it, keeps the objects in an indexed [`Store`], and notifies handlers of
/// changes. Any number of [readers](Self::reader), [indexes](Self::add_index) and [subscriptions](Self::subscribe) share
/// its one watch, and can be added at any time, before or after the start. Clones refer to the same informer.
///
/// # Guarantees
/// - The store follows the server: a reader never sees an older state after a newer one. It trails the server; use
///   [`Store::wait_for`] to read one's own write.
/// - A handler that joins late receives every existing object first, and then every change.
/// - For each object, a handler receives states in the order in which the server produced them. States may be skipped:
///   changes that the handler has not received yet are coalesced, and so are those missed while the watch was
///   interrupted. An object that is deleted and created again in that time is reported as a deletion and an addition.
/// - There is no order between different objects, nor between handlers.
/// - A change is readable in the store before a handler is notified of it. The store may already be newer.
///
/// # Threads
/// The reflector runs in one task; each handler runs in its own. A slow or panicking handler affects neither the store
/// nor other handlers. Reading never waits for the network.
///
/// # Failure
/// Failed requests are retried with backoff for as long as the informer runs; [`progress`](Self::progress) reports the
/// last one. The store keeps its last contents meanwhile. If the collection is removed from the server, the informer
/// retries or exits: see [`OnGone`](crate::reflector::OnGone).
///
/// # Lifetime
/// A started informer runs until it is [stopped](Self::stop), even if the informer and its factory are dropped, as with
/// client-go: readers, subscriptions and handlers stay current. It ends by itself when the last of these is dropped.
///
/// ```no_run
/// # async fn example(source: impl watchkeeper_core::ListWatch + 'static) -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_cache::handler::Handler;
/// use watchkeeper_cache::store::by_field;
/// use watchkeeper_cache::{Informer, Keep};
/// use watchkeeper_wire::Kind;
///
/// let kind = Kind::new("", "v1", "Pod");
/// let pods = Informer::new(kind.clone(), source);
/// pods.add_index("node", by_field(kind, "spec.nodeName".parse()?))?;
/// Handler::start(pods.subscribe(Default::default()), |change| println!("{change:?}"));
/// pods.start();
/// pods.wait_until_ready().await;
///
/// let reader = pods.reader::<serde_json::Value>(Keep::Encoded);
/// println!("{} pods on n1", reader.by_index("node", "n1")?.items()?.len());
/// pods.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Informer {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    kind: Kind,
    collection: Option<Collection>,
    store: Store,
    progress: watch::Receiver<Progress>,
    reconnect: Arc<Notify>,
    /// `None` once started or stopped.
    reflector: Mutex<Option<Box<Reflector<Writer>>>>,
    life: Arc<Life>,
    resync: Resync,
    on_exit: Mutex<Option<OnExit>>,
    exited: watch::Sender<Option<ExitReason>>,
}

impl Informer {
    /// Creates an informer of a source whose objects are of `kind`. Sends no request before it is
    /// [started](Self::start).
    pub fn new(kind: Kind, source: impl ListWatch + 'static) -> Self {
        Self::builder(kind, source).build()
    }

    /// Returns a builder for an informer with other settings, for example of its reflector.
    pub fn builder(kind: Kind, source: impl ListWatch + 'static) -> InformerBuilder {
        InformerBuilder::new(kind, source)
    }

    /// Starts listing and watching in a background task. Has no effect if already started or stopped (`informer.I2`).
    ///
    /// # Panics
    /// If called outside a tokio runtime.
    pub fn start(&self) {
        let Some(reflector) = self.shared.reflector.lock().take() else { return };
        let stop = self.shared.life.stopped();
        let guard = ExitGuard::new(self.shared.exited.clone(), self.shared.on_exit.lock().take());
        let run = async move {
            let outcome = reflector.run(stop).await;
            drop(outcome.sink);
            guard.exit(outcome.reason);
        };
        self.shared.life.run(|| tokio::spawn(run));
    }

    /// Returns whether the informer was started.
    pub fn is_started(&self) -> bool {
        self.shared.reflector.lock().is_none()
    }

    /// Waits until the first list is in the store; client-go's `HasSynced`. Returns false if the informer exits before
    /// that. Handlers may not have received all of it yet: see [`Subscription::caught_up`]. Cancel safe.
    pub async fn wait_until_ready(&self) -> bool {
        let mut exited = self.shared.exited.subscribe();
        tokio::select! {
            biased;
            () = self.shared.store.wait_until_ready() => true,
            _ = exited.wait_for(Option::is_some) => self.shared.store.is_ready(),
        }
    }

    /// Returns whether the first list is in the store.
    pub fn is_ready(&self) -> bool {
        self.shared.store.is_ready()
    }

    /// Stops the informer, and waits until its task has ended. It cannot be started afterwards. If dropped half-way, the
    /// informer still stops.
    pub async fn stop(&self) {
        self.shared.life.stop();
        self.forbid_start();
        self.exited().await;
        self.shared.life.join().await;
    }

    /// Makes later calls of `start` have no effect.
    fn forbid_start(&self) {
        if self.shared.reflector.lock().take().is_some() {
            self.shared.exited.send_replace(Some(ExitReason::Stopped));
        }
    }

    /// Returns whether the informer has exited: see [`exited`](Self::exited).
    pub fn has_exited(&self) -> bool {
        self.shared.exited.borrow().is_some()
    }

    /// Waits until the informer has exited, and returns why: it was stopped, or its collection was removed and
    /// [`OnGone::Exit`](crate::reflector::OnGone::Exit) is set. Subscriptions end then, and the store keeps its last
    /// contents. Cancel safe.
    pub async fn exited(&self) -> ExitReason {
        let mut exited = self.shared.exited.subscribe();
        match exited.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or(ExitReason::Stopped),
            Err(_) => ExitReason::Stopped, // unreachable: `self` holds the sender
        }
    }

    /// Records metrics under the name of the informer. After the start, only those of its store and handlers.
    pub fn measure(&self, metrics: &InformerMetrics) {
        let mut reflector = self.shared.reflector.lock();
        metrics.measure(&self.shared.name, reflector.as_deref_mut(), &self.shared.store);
    }

    /// Returns the informer's name in logs and metrics, which is its reflector's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Returns a printable view of the informer, for debugging. It includes bodies only if they are
    /// [requested](Dump::bodies).
    pub fn dump(&self) -> Dump {
        let phase = match (self.is_started(), self.has_exited()) {
            (_, true) => "exited".to_owned(),
            (false, _) => "not started".to_owned(),
            (true, _) => format!("{:?}", self.shared.progress.borrow().phase).to_lowercase(),
        };
        let mut dump = self.shared.store.dump();
        dump.title = Some(format!("{}: {phase}", self.shared.name));
        dump
    }

    /// Returns a receiver of the informer's progress: phase, counts, version and the last failure.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.shared.progress.clone()
    }

    /// Sends the next request immediately: cancels the current request or retry delay, and resets the backoff. A watch
    /// resumes after the last version it delivered, without a relist.
    ///
    /// For callers that know that the server is back before the next retry is due, or that the connection of a watch is
    /// dead.
    pub fn reconnect(&self) {
        self.shared.reconnect.notify_one();
    }

    /// Returns why the first list is not in the store yet; `None` if it is.
    pub fn unready(&self) -> Option<UnreadyCause> {
        if self.is_ready() {
            return None;
        }
        let exited = self.shared.exited.borrow().clone();
        let failure = self.shared.progress.borrow().failure.clone();
        Some(match (exited, self.is_started(), failure) {
            (Some(reason), ..) => UnreadyCause::Exited(reason),
            (None, false, _) => UnreadyCause::NotStarted,
            (None, true, Some(failure)) => UnreadyCause::Failed(failure),
            (None, true, None) => UnreadyCause::NoAnswer,
        })
    }

    /// Returns the kind of the objects.
    pub fn kind(&self) -> &Kind {
        &self.shared.kind
    }

    /// Returns the collection that the informer watches; `None` for an informer that was not created by a factory.
    pub fn collection(&self) -> Option<&Collection> {
        self.shared.collection.as_ref()
    }

    /// Returns the store of encoded objects.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Returns a reader that decodes objects as `K`; client-go's lister.
    pub fn reader<K>(&self, keep: Keep) -> Reader<K> {
        Reader::new(self.shared.store.clone(), self.shared.kind.clone(), keep).resync(self.shared.resync)
    }

    /// Adds an index, before or after the start: see [`Store::add_index`].
    ///
    /// # Errors
    /// If an index with this name exists.
    pub fn add_index(
        &self,
        name: &str,
        values: impl Fn(&Object) -> Vec<String> + Send + Sync + 'static,
    ) -> Result<(), IndexExists> {
        self.shared.store.add_index(name, values)
    }

    /// Subscribes to all objects and their changes, coalesced by key.
    pub fn subscribe(&self, mut options: SubscriptionOptions) -> Subscription {
        options.resync = options.resync.or(self.shared.resync);
        Subscription::new(&self.shared.store, options)
    }

    /// Atomically takes a snapshot and subscribes to the changes after it.
    pub(crate) fn subscribe_since(&self) -> (Snapshot, Subscription) {
        let options = SubscriptionOptions { resync: self.shared.resync, ..Default::default() };
        Subscription::since(&self.shared.store, options)
    }

    /// Subscribes to all objects and every single change, not coalesced. `capacity` bounds the buffered events.
    pub fn raw_events(&self, filter: Filter, capacity: usize) -> RawEvents {
        RawEvents::new(&self.shared.store, filter, capacity)
    }
}

impl std::fmt::Debug for Informer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Informer");
        shown
            .field("kind", &self.shared.kind.name())
            .field("store", &self.shared.store)
            .finish_non_exhaustive()
    }
}
