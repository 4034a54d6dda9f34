//! Factory: one informer for each collection, whoever asks for it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use watchkeeper_core::{Collection, Sources};

use super::Informer;
use crate::metrics::InformerMetrics;
use crate::reflector::Reflector;
use crate::store::Writer;

type Configure = dyn Fn(&Collection, Reflector<Writer>) -> Reflector<Writer> + Send + Sync;

/// Informers of one server, at most one for each collection. Clones are of the same factory.
///
/// ```no_run
/// # async fn example(server: impl watchkeeper_core::Sources + 'static) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use watchkeeper_cache::InformerFactory;
/// use watchkeeper_core::Collection;
///
/// let factory = InformerFactory::new(server);
/// let pods = factory.informer(&Collection::new("", "v1", "pods", "Pod"));
/// let shops = factory.informer(&Collection::new("apps", "v1", "deployments", "Deployment").namespace("shop"));
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
    sources: Box<dyn Sources>,
    configure: Option<Box<Configure>>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    informers: BTreeMap<Collection, Informer>,
    metrics: Option<InformerMetrics>,
    is_stopped: bool,
}

/// Not all informers had their first list in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not synced after {after:?}: {}", .collections.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
pub struct NotSynced {
    /// Those that had not.
    pub collections: Vec<Collection>,
    /// How long was waited.
    pub after: Duration,
}

impl InformerFactory {
    /// Of what these sources have.
    pub fn new(sources: impl Sources + 'static) -> Self {
        Self::build(Box::new(sources), None)
    }

    /// Of what these sources have, with reflectors that are set up as one likes.
    pub fn configured(
        sources: impl Sources + 'static,
        configure: impl Fn(&Collection, Reflector<Writer>) -> Reflector<Writer> + Send + Sync + 'static,
    ) -> Self {
        Self::build(Box::new(sources), Some(Box::new(configure)))
    }

    fn build(sources: Box<dyn Sources>, configure: Option<Box<Configure>>) -> Self {
        Self { shared: Arc::new(Shared { sources, configure, inner: Mutex::default() }) }
    }

    /// The informer of a collection. The first to ask makes it; it is not started.
    pub fn informer(&self, collection: &Collection) -> Informer {
        let mut inner = self.shared.inner.lock();
        if let Some(informer) = inner.informers.get(collection) {
            return informer.clone();
        }
        let source = self.shared.sources.source(collection);
        let informer = Informer::configured(collection.kind().into(), source, |reflector| {
            let reflector = reflector.name(collection.to_string());
            match &self.shared.configure {
                Some(configure) => configure(collection, reflector),
                None => reflector,
            }
        });
        if let Some(metrics) = &inner.metrics {
            informer.measure(metrics);
        }
        inner.informers.insert(collection.clone(), informer.clone());
        informer
    }

    /// Has the informers counted that there are and will be: see [`Informer::measure`].
    pub fn measure(&self, metrics: &InformerMetrics) {
        let mut inner = self.shared.inner.lock();
        inner.informers.values().for_each(|informer| informer.measure(metrics));
        inner.metrics = Some(metrics.clone());
    }

    /// Starts the informers that were asked for and are not started yet. Once the factory was stopped nothing
    /// starts.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self) {
        let inner = self.shared.inner.lock();
        if !inner.is_stopped {
            inner.informers.values().for_each(Informer::start);
        }
    }

    /// Waits until all informers that were started have their first list.
    ///
    /// # Errors
    /// If some have not, after so long.
    pub async fn synced(&self, patience: Duration) -> Result<(), NotSynced> {
        let started: Vec<_> = {
            let inner = self.shared.inner.lock();
            let all = inner.informers.iter().filter(|(_, informer)| informer.is_started());
            all.map(|(collection, informer)| (collection.clone(), informer.clone())).collect()
        };
        let all = async {
            for (_, informer) in &started {
                informer.synced().await;
            }
        };
        // Whether in time or not: what counts is who is synced.
        let _ = tokio::time::timeout(patience, all).await;
        let late: Vec<_> =
            started.into_iter().filter(|(_, informer)| !informer.is_synced()).map(|(late, _)| late).collect();
        match late.is_empty() {
            true => Ok(()),
            false => Err(NotSynced { collections: late, after: patience }),
        }
    }

    /// Ends one informer, and forgets it: who asks for it then gets a new one.
    pub async fn stop_informer(&self, collection: &Collection) {
        let informer = self.shared.inner.lock().informers.remove(collection);
        if let Some(informer) = informer {
            informer.stop().await;
        }
    }

    /// Ends all informers, and returns when all their tasks have ended. Their stores stay readable.
    pub async fn stop(&self) {
        let informers: Vec<_> = {
            let mut inner = self.shared.inner.lock();
            inner.is_stopped = true;
            inner.informers.values().cloned().collect()
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

impl fmt::Debug for InformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InformerFactory").field(&self.collections()).finish()
    }
}
