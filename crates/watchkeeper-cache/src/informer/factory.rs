//! Informer factory: shares one informer, and so one watch, for each collection.
//!
//! Invariants:
//! - `factory.F1`: a collection has at most one informer.
//! - `factory.F2`: an informer whose collection was removed exits, and is removed from the factory before its exit is
//!   reported; the next request creates a new one.
//! - `factory.F3`: once the factory has stopped, no task of its informers is running, and none can be started.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::broadcast;
use watchkeeper_core::{Collection, ListWatchFactory};

use super::exit::BUFFERED_EXITS;
use super::factory_builder::Settings;
use super::{FactoryBuilder, Informer, InformerExited, InformerExits, NotReady, UnreadyInformer};
use crate::lock::Mutex;
use crate::metrics::InformerMetrics;
use crate::reflector::{ExitReason, OnGone, Reflector};
use crate::store::Writer;

/// A factory of shared informers of one server: one for each collection, however often it is requested; client-go's
/// `SharedInformerFactory`.
///
/// Typical use: request informers, register handlers and indexes, [`start`](Self::start), wait until the informers are
/// ready, and [`stop`](Self::stop). An informer requested later needs another `start`. Clones refer to the same factory.
///
/// # Lifetime
/// Dropping the factory does not stop started informers: see [`Informer`]. [`stop`](Self::stop) does, and returns when
/// all their tasks have ended.
///
/// # Failure
/// Requests that fail are retried with backoff for as long as the informer runs. An informer whose collection is
/// removed, as with a deleted custom resource definition, exits: see [`exits`](Self::exits).
///
/// ```no_run
/// # async fn example(server: impl watchkeeper_core::ListWatchFactory + 'static) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use watchkeeper_cache::InformerFactory;
/// use watchkeeper_core::Collection;
///
/// let factory = InformerFactory::new(server);
/// let pods = factory.informer(&Collection::PODS);
/// let shops = factory.informer(&Collection::DEPLOYMENTS.namespace("shop"));
/// factory.start();
/// factory.wait_until_ready(Duration::from_secs(30)).await?;
/// println!("{} pods, {} deployments", pods.store().snapshot().len(), shops.store().snapshot().len());
/// factory.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct InformerFactory {
    shared: Arc<Shared>,
}

struct Shared {
    sources: Box<dyn ListWatchFactory>,
    settings: Settings,
    next_id: AtomicU64,
    inner: Mutex<Inner>,
}

struct Inner {
    /// Each with an ID that distinguishes an exited informer from its successor.
    informers: BTreeMap<Collection, (u64, Informer)>,
    metrics: Option<InformerMetrics>,
    /// `None` once the factory is stopped.
    exits: Option<broadcast::Sender<InformerExited>>,
}

impl InformerFactory {
    /// Creates a factory with default settings.
    pub fn new(sources: impl ListWatchFactory + 'static) -> Self {
        Self::builder(sources).build()
    }

    /// Returns a builder for a factory with other defaults for namespaces, selectors, resync periods or reflectors.
    pub fn builder(sources: impl ListWatchFactory + 'static) -> FactoryBuilder {
        FactoryBuilder::new(Box::new(sources))
    }

    pub(super) fn with_settings(sources: Box<dyn ListWatchFactory>, settings: Settings) -> Self {
        let exits = Some(broadcast::Sender::new(BUFFERED_EXITS));
        let inner = Mutex::new(Inner { informers: BTreeMap::new(), metrics: None, exits });
        Self { shared: Arc::new(Shared { sources, settings, next_id: AtomicU64::new(0), inner }) }
    }

    /// Returns the informer of a collection, after filling in the factory's
    /// [defaults](FactoryBuilder::namespaces). Creates it on the first request, and does not start it.
    ///
    /// If the collection is removed from the server, as with a deleted custom resource definition, the informer exits
    /// unless it is [configured](FactoryBuilder::configure) otherwise: see [`exits`](Self::exits).
    pub fn informer(&self, collection: &Collection) -> Informer {
        let collection = self.shared.settings.complete(collection);
        if let Some((_, informer)) = self.shared.inner.lock().informers.get(&collection) {
            return informer.clone();
        }
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let informer = self.create(&collection, id); // calls user code, so without the lock
        let mut inner = self.shared.inner.lock();
        if inner.exits.is_none() {
            informer.forbid_start(); // factory.F3
            return informer;
        }
        let metrics = inner.metrics.clone();
        let (first_id, first) = inner.informers.entry(collection).or_insert((id, informer)); // factory.F1
        if let Some(metrics) = metrics.filter(|_| *first_id == id) {
            first.measure(&metrics);
        }
        first.clone()
    }

    fn create(&self, collection: &Collection, id: u64) -> Informer {
        let Shared { sources, settings, .. } = &*self.shared;
        let source = sources.source(collection);
        let configure = |reflector: Reflector<Writer>| {
            let reflector = reflector.name(collection.to_string()).on_gone(OnGone::Exit);
            match &settings.configure {
                Some(configure) => configure(collection, reflector),
                None => reflector,
            }
        };
        let (factory, exited) = (Arc::downgrade(&self.shared), collection.clone());
        Informer::builder(collection.kind().into(), source)
            .collection(collection.clone())
            .configure(configure)
            .resync(settings.resync(collection))
            .on_exit(Box::new(move |reason| remove_exited(&factory, exited, id, reason)))
            .build()
    }

    /// Returns a receiver of the informers that end from now on without being stopped. Each is reported after the
    /// factory has removed it, so that requesting its collection again creates a new informer.
    ///
    /// ```no_run
    /// # async fn example(factory: watchkeeper_cache::InformerFactory) {
    /// let mut exits = factory.exits();
    /// while let Some(exit) = exits.next().await {
    ///     println!("{}: {}", exit.collection, exit.reason);
    /// }
    /// # }
    /// ```
    pub fn exits(&self) -> InformerExits {
        InformerExits::new(self.shared.inner.lock().exits.as_ref())
    }

    /// Records metrics of all informers, existing and future: see [`Informer::measure`].
    pub fn measure(&self, metrics: &InformerMetrics) {
        let mut inner = self.shared.inner.lock();
        inner.informers.values().for_each(|(_, informer)| informer.measure(metrics));
        inner.metrics = Some(metrics.clone());
    }

    /// Starts all requested informers that are not running yet. Has no effect once the factory is stopped.
    ///
    /// # Panics
    /// If called outside a tokio runtime.
    pub fn start(&self) {
        let inner = self.shared.inner.lock();
        let informers: Vec<_> = inner.informers.values().map(|(_, informer)| informer.clone()).collect();
        drop(inner);
        informers.iter().for_each(Informer::start);
    }

    /// Waits until every informer of the factory has stored its first list; client-go's `WaitForCacheSync`. Cancel safe.
    ///
    /// # Errors
    /// [`NotReady`] names the informers that are not ready after `timeout`, and why: the error of their last request, or
    /// that they were requested after [`start`](Self::start). Fails at once if the factory has no informers.
    pub async fn wait_until_ready(&self, timeout: Duration) -> Result<(), NotReady> {
        let informers = self.informers(|_| true);
        if informers.is_empty() {
            return Err(NotReady::NoInformers);
        }
        let all = async {
            for (_, informer) in &informers {
                informer.wait_until_ready().await;
            }
        };
        // The outcome is decided by the informers' states, not by the timeout.
        let _ = tokio::time::timeout(timeout, all).await;
        let late: Vec<_> = informers.into_iter().filter_map(UnreadyInformer::from_informer).collect();
        if late.is_empty() { Ok(()) } else { Err(NotReady::Pending { informers: late, after: timeout }) }
    }

    /// Returns the started informers that have not stored their first list yet, and why.
    pub fn unready(&self) -> Vec<UnreadyInformer> {
        self.informers(Informer::is_started).into_iter().filter_map(UnreadyInformer::from_informer).collect()
    }

    fn informers(&self, is_wanted: impl Fn(&Informer) -> bool) -> Vec<(Collection, Informer)> {
        let inner = self.shared.inner.lock();
        let all = inner.informers.iter().map(|(collection, (_, informer))| (collection, informer));
        let wanted = all.filter(|(_, informer)| is_wanted(informer));
        wanted.map(|(collection, informer)| (collection.clone(), informer.clone())).collect()
    }

    /// Stops and removes one informer. The next request for its collection creates a new one.
    pub async fn stop_informer(&self, collection: &Collection) {
        let collection = self.shared.settings.complete(collection);
        let informer = self.shared.inner.lock().informers.remove(&collection);
        if let Some((_, informer)) = informer {
            informer.stop().await;
        }
    }

    /// Stops all informers, and returns when their tasks have ended. Their stores stay readable. If dropped half-way, the
    /// factory cannot start informers any more, and some may still be running; call it again.
    pub async fn stop(&self) {
        let informers: Vec<_> = {
            let mut inner = self.shared.inner.lock();
            inner.exits = None;
            inner.informers.values().map(|(_, informer)| informer.clone()).collect()
        };
        for informer in informers {
            informer.stop().await;
        }
    }

    /// Returns the collections that have an informer.
    pub fn collections(&self) -> Vec<Collection> {
        self.shared.inner.lock().informers.keys().cloned().collect()
    }
}

/// Removes an informer that ended, and then reports it (`factory.F2`). A successor with the same collection stays.
fn remove_exited(factory: &Weak<Shared>, collection: Collection, id: u64, reason: &ExitReason) {
    let Some(factory) = factory.upgrade() else { return };
    if *reason == ExitReason::Stopped {
        return; // on request, so not reported
    }
    let mut inner = factory.inner.lock();
    let is_same = inner.informers.get(&collection).is_some_and(|(current, _)| *current == id);
    let removed = is_same.then(|| inner.informers.remove(&collection));
    let exits = inner.exits.clone();
    drop(inner);
    drop(removed);
    if let Some(exits) = exits {
        tracing::warn!(%collection, %reason, "informer exited");
        let _ = exits.send(InformerExited::new(collection, reason.clone())); // an error means that nobody subscribed
    }
}

impl fmt::Debug for InformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InformerFactory").field(&self.collections()).finish()
    }
}
