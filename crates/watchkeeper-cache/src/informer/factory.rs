//! Factory: one informer for each collection, whoever asks for it.
//!
//! - F1: there is at most one informer of a collection, and so one watch.
//! - F2: an informer whose collection is gone ends, and is forgotten before anybody hears of it: who asks then
//!   gets a new one.
//! - F3: when the factory has stopped, no task of its informers is left, and none can be started.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::broadcast;
use watchkeeper_core::{Collection, ListWatchFactory};

use super::builder::Settings;
use super::ending::KEPT;
use super::{Ending, Endings, FactoryBuilder, Informer, NotSynced, Unsynced};
use crate::lock::Mutex;
use crate::metrics::InformerMetrics;
use crate::reflector::{Reflector, WhenGone, Why};
use crate::store::Writer;

/// Informers of one server, at most one for each collection. Clones are of the same factory.
///
/// Informers that were started outlive the factory: see [`Informer`]. [`stop`](Self::stop) ends them.
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
/// factory.synced(Duration::from_secs(30)).await?;
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
    made: AtomicU64,
    inner: Mutex<Inner>,
}

struct Inner {
    /// With the number of each: one that has ended is not to be taken for its successor.
    informers: BTreeMap<Collection, (u64, Informer)>,
    metrics: Option<InformerMetrics>,
    /// `None` once the factory was stopped.
    endings: Option<broadcast::Sender<Ending>>,
}

impl InformerFactory {
    /// Of what these sources have.
    pub fn new(sources: impl ListWatchFactory + 'static) -> Self {
        Self::builder(sources).build()
    }

    /// Of what these sources have, as one likes.
    pub fn builder(sources: impl ListWatchFactory + 'static) -> FactoryBuilder {
        FactoryBuilder::new(Box::new(sources))
    }

    /// Of what these sources have, with reflectors that are set up as one likes.
    pub fn configured(
        sources: impl ListWatchFactory + 'static,
        configure: impl Fn(&Collection, Reflector<Writer>) -> Reflector<Writer> + Send + Sync + 'static,
    ) -> Self {
        Self::builder(sources).configure(configure).build()
    }

    pub(super) fn of(sources: Box<dyn ListWatchFactory>, settings: Settings) -> Self {
        let endings = Some(broadcast::Sender::new(KEPT));
        let inner = Mutex::new(Inner { informers: BTreeMap::new(), metrics: None, endings });
        Self { shared: Arc::new(Shared { sources, settings, made: AtomicU64::new(0), inner }) }
    }

    /// The informer of a collection, which is first made what it is [by default](FactoryBuilder::namespaces).
    /// The first to ask makes it; it is not started.
    ///
    /// When its collection is not there any more, as when a custom resource definition was removed, it ends
    /// unless it was [set up](FactoryBuilder::configure) otherwise: see [`endings`](Self::endings).
    pub fn informer(&self, collection: &Collection) -> Informer {
        let collection = self.shared.settings.complete(collection);
        if let Some((_, informer)) = self.shared.inner.lock().informers.get(&collection) {
            return informer.clone();
        }
        let number = self.shared.made.fetch_add(1, Ordering::Relaxed);
        let informer = self.make(&collection, number); // calls what is not ours: without the lock
        let mut inner = self.shared.inner.lock();
        if inner.endings.is_none() {
            informer.forbid(); // F3
            return informer;
        }
        let metrics = inner.metrics.clone();
        let (made, first) = inner.informers.entry(collection).or_insert((number, informer)); // F1
        if let Some(metrics) = metrics.filter(|_| *made == number) {
            first.measure(&metrics);
        }
        first.clone()
    }

    fn make(&self, collection: &Collection, number: u64) -> Informer {
        let Shared { sources, settings, .. } = &*self.shared;
        let source = sources.source(collection);
        let configure = |reflector: Reflector<Writer>| {
            let reflector = reflector.name(collection.to_string()).when_gone(WhenGone::End);
            match &settings.configure {
                Some(configure) => configure(collection, reflector),
                None => reflector,
            }
        };
        let (factory, of) = (Arc::downgrade(&self.shared), collection.clone());
        let when_ended = Box::new(move |why: &Why| forget(&factory, of, number, why));
        let kind = collection.kind().into();
        let resync = settings.resync(collection);
        Informer::build(kind, Some(collection.clone()), source, configure, resync, Some(when_ended))
    }

    /// Informers that end, though nobody stops them, from now on: each is told of when the factory has
    /// forgotten it (F2).
    ///
    /// ```no_run
    /// # async fn example(factory: watchkeeper_cache::InformerFactory) {
    /// let mut endings = factory.endings();
    /// while let Some(ending) = endings.next().await {
    ///     println!("{}: {}", ending.collection, ending.why);
    /// }
    /// # }
    /// ```
    pub fn endings(&self) -> Endings {
        Endings::of(self.shared.inner.lock().endings.as_ref())
    }

    /// Has the informers counted that there are and will be: see [`Informer::measure`].
    pub fn measure(&self, metrics: &InformerMetrics) {
        let mut inner = self.shared.inner.lock();
        inner.informers.values().for_each(|(_, informer)| informer.measure(metrics));
        inner.metrics = Some(metrics.clone());
    }

    /// Starts the informers that were asked for and are not started yet. Once the factory was stopped nothing
    /// starts.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self) {
        let inner = self.shared.inner.lock();
        let informers: Vec<_> = inner.informers.values().map(|(_, informer)| informer.clone()).collect();
        drop(inner);
        informers.iter().for_each(Informer::start);
    }

    /// Waits until every informer of the factory has its first list.
    ///
    /// # Errors
    /// [`NotSynced`] names the informers that have none after `patience`, and why: what their last request failed
    /// with, or that they were requested after [`start`](Self::start). A factory without informers is an error at
    /// once.
    pub async fn synced(&self, patience: Duration) -> Result<(), NotSynced> {
        let informers = self.informers(|_| true);
        if informers.is_empty() {
            return Err(NotSynced::NoInformers);
        }
        let all = async {
            for (_, informer) in &informers {
                informer.synced().await;
            }
        };
        // Whether in time or not: what counts is who is synced.
        let _ = tokio::time::timeout(patience, all).await;
        let late: Vec<_> = informers.into_iter().filter_map(Unsynced::of).collect();
        match late.is_empty() {
            true => Ok(()),
            false => Err(NotSynced::Pending { informers: late, after: patience }),
        }
    }

    /// The informers that were started and do not have their first list yet, and why.
    pub fn unsynced(&self) -> Vec<Unsynced> {
        self.informers(Informer::is_started).into_iter().filter_map(Unsynced::of).collect()
    }

    fn informers(&self, is_wanted: impl Fn(&Informer) -> bool) -> Vec<(Collection, Informer)> {
        let inner = self.shared.inner.lock();
        let all = inner.informers.iter().map(|(collection, (_, informer))| (collection, informer));
        let wanted = all.filter(|(_, informer)| is_wanted(informer));
        wanted.map(|(collection, informer)| (collection.clone(), informer.clone())).collect()
    }

    /// Ends one informer, and forgets it: who asks for it then gets a new one.
    pub async fn stop_informer(&self, collection: &Collection) {
        let collection = self.shared.settings.complete(collection);
        let informer = self.shared.inner.lock().informers.remove(&collection);
        if let Some((_, informer)) = informer {
            informer.stop().await;
        }
    }

    /// Ends all informers, and returns when all their tasks have ended. Their stores stay readable.
    pub async fn stop(&self) {
        let informers: Vec<_> = {
            let mut inner = self.shared.inner.lock();
            inner.endings = None;
            inner.informers.values().map(|(_, informer)| informer.clone()).collect()
        };
        for informer in informers {
            informer.stop().await;
        }
    }

    /// The collections that have an informer.
    pub fn collections(&self) -> Vec<Collection> {
        self.shared.inner.lock().informers.keys().cloned().collect()
    }
}

/// An informer has ended (F2). What was asked for meanwhile under the same name is another.
fn forget(factory: &Weak<Shared>, collection: Collection, number: u64, why: &Why) {
    let Some(factory) = factory.upgrade() else { return };
    if *why == Why::Stopped {
        return; // whoever stopped it knows
    }
    let mut inner = factory.inner.lock();
    let is_same = inner.informers.get(&collection).is_some_and(|(at, _)| *at == number);
    let forgotten = is_same.then(|| inner.informers.remove(&collection));
    let endings = inner.endings.clone();
    drop(inner);
    drop(forgotten);
    if let Some(endings) = endings {
        tracing::warn!(%collection, %why, "an informer has ended");
        let _ = endings.send(Ending::new(collection, why.clone())); // an error: nobody listens
    }
}

impl fmt::Debug for InformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InformerFactory").field(&self.collections()).finish()
    }
}
