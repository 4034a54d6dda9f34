//! Catalog: the cached resources of a server, and on-demand caching of others.
//!
//! Input: discovery, and an informer factory.
//! Output: a [`Watched`] resource, whose informer has its first list.
//!
//! Invariants:
//! - `catalog.C1`: the resources of [`ALWAYS_CACHED`] always have informers. Any other gets one when it is first
//!   requested; there are at most [`MAX_ON_DEMAND`] of these. An informer without readers for [`IDLE_TIMEOUT`] is
//!   stopped; at the limit, the one that has been idle for longest is.
//! - `catalog.C2`: Secrets are not cached unless [enabled](CatalogBuilder::secrets).

mod demand;
mod error;
mod find;
mod idle;
mod watched;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::time::{Instant, timeout};
use watchkeeper_cache::{InformerFactory, Snapshot};
use watchkeeper_client::Client;
use watchkeeper_client::discovery::{Discovery, DiscoveryClient, Mapping, MemoryCache, RestMapper};
use watchkeeper_client::rest::{Content, RestClient};
use watchkeeper_core::{Collection, GroupVersionKind, GroupVersionResource};

pub use error::CatalogError;
pub(crate) use find::path_of;
use idle::Sweeper;
use watched::Entry;
pub use watched::Watched;

use crate::freshness::{self, Freshness, Monitor};

/// A resource that is cached from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefaultResource {
    /// API group; empty for core.
    pub group: &'static str,
    /// API version.
    pub version: &'static str,
    /// Resource, in the plural.
    pub resource: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

/// The resources that are cached from the start.
pub const ALWAYS_CACHED: [DefaultResource; 8] = [
    namespaced("", "pods", "Pod"),
    namespaced("", "services", "Service"),
    DefaultResource { namespaced: false, ..namespaced("", "namespaces", "Namespace") },
    namespaced("", "events", "Event"),
    namespaced("apps", "deployments", "Deployment"),
    namespaced("apps", "statefulsets", "StatefulSet"),
    namespaced("apps", "daemonsets", "DaemonSet"),
    namespaced("apps", "replicasets", "ReplicaSet"),
];

const fn namespaced(group: &'static str, resource: &'static str, kind: &'static str) -> DefaultResource {
    DefaultResource { group, version: "v1", resource, kind, namespaced: true }
}

/// Maximum number of on-demand informers.
pub const MAX_ON_DEMAND: usize = 64;
/// Time without readers after which an on-demand informer is stopped.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum time a request waits for the first list of a resource.
pub const FIRST_LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// The cached resources of a server. Clones are cheap and share everything.
#[derive(Debug, Clone)]
pub struct Catalog {
    inner: Arc<Inner>,
    sweeper: Arc<Sweeper>,
    monitor: Arc<Monitor>,
}

#[derive(Debug)]
struct Inner {
    client: Client,
    factory: InformerFactory,
    discovery: Arc<MemoryCache>,
    mapper: RestMapper,
    secrets: bool,
    /// When discovery was last repeated because a resource was not found.
    rediscovered: Mutex<Option<Instant>>,
    /// Held while an informer is started or stopped, so that one being stopped is not handed out. Locked before
    /// `entries`.
    changing: tokio::sync::Mutex<()>,
    entries: RwLock<Vec<Entry>>,
}

/// A builder of a [`Catalog`].
#[derive(Debug)]
#[must_use]
pub struct CatalogBuilder {
    client: Client,
    secrets: bool,
}

impl CatalogBuilder {
    /// Sets whether Secrets may be cached. Default: false.
    pub fn secrets(mut self, secrets: bool) -> Self {
        self.secrets = secrets;
        self
    }

    /// Builds the catalog. Nothing is requested before [`start`](Catalog::start).
    pub fn build(self) -> Catalog {
        // JSON, since objects are forwarded as JSON.
        let sources = self.client.sources().content(|_| Content::json());
        let factory = InformerFactory::new(sources);
        let permanent = ALWAYS_CACHED.map(|resource| {
            let mapping = Arc::new(mapping(resource));
            let collection = collection(&mapping);
            let informer = factory.informer(&collection);
            Entry::new(mapping, collection, informer, true)
        });
        let rest = RestClient::new(self.client.transport().clone(), "/", Content::json());
        let discovery = Arc::new(MemoryCache::new(Arc::new(DiscoveryClient::new(rest))));
        let mapper = RestMapper::new(Arc::clone(&discovery) as Arc<dyn Discovery>);
        let inner = Inner {
            client: self.client,
            factory,
            discovery,
            mapper,
            secrets: self.secrets,
            rediscovered: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            entries: RwLock::new(permanent.into()),
        };
        Catalog { inner: Arc::new(inner), sweeper: Arc::default(), monitor: Arc::default() }
    }
}

impl Catalog {
    /// Creates a builder for the server of a client.
    pub fn builder(client: &Client) -> CatalogBuilder {
        CatalogBuilder { client: client.clone(), secrets: false }
    }

    /// Starts the informers of [`ALWAYS_CACHED`].
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self) {
        self.inner.factory.start();
        self.sweeper.start(&self.inner);
        let inner = Arc::downgrade(&self.inner);
        let watching = move || inner.upgrade().map(|inner| inner.watching());
        self.monitor.start(self.inner.client.transport(), Box::new(watching));
    }

    /// Returns which resources are up to date.
    pub fn freshness(&self) -> Freshness {
        self.monitor.now()
    }

    /// Subscribes to changes of [`freshness`](Self::freshness).
    pub(crate) fn follow_freshness(&self) -> freshness::Receiver {
        self.monitor.subscribe()
    }

    /// Returns the client.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Returns the informer factory.
    pub fn factory(&self) -> &InformerFactory {
        &self.inner.factory
    }

    /// Returns the discovery cache.
    pub fn discovery(&self) -> &Arc<MemoryCache> {
        &self.inner.discovery
    }

    /// Returns the REST mapper.
    pub fn mapper(&self) -> &RestMapper {
        &self.inner.mapper
    }

    /// Returns the resources of [`ALWAYS_CACHED`] without a first list.
    pub fn unready(&self) -> Vec<Arc<Mapping>> {
        let entries = self.inner.entries.read();
        let late = entries.iter().filter(|entry| entry.is_permanent && !entry.informer.is_ready());
        late.map(|entry| entry.mapping.clone()).collect()
    }

    /// Returns the resources of [`ALWAYS_CACHED`].
    pub(crate) fn permanent(&self) -> Vec<Arc<Mapping>> {
        let entries = self.inner.entries.read();
        entries.iter().filter(|entry| entry.is_permanent).map(|entry| entry.mapping.clone()).collect()
    }

    /// Returns snapshots of all resources that have their first list. This does not count as reading them: they may
    /// still become idle.
    pub fn snapshots(&self) -> Vec<(Arc<Mapping>, Snapshot)> {
        let entries = self.inner.entries.read();
        let living = entries.iter().filter(|entry| !entry.informer.has_exited() && entry.informer.is_ready());
        living.map(|entry| (entry.mapping.clone(), entry.informer.store().snapshot())).collect()
    }

    /// Returns the cached resources, with or without their first list.
    pub fn cached(&self) -> Vec<Arc<Mapping>> {
        let entries = self.inner.entries.read();
        entries.iter().filter(|entry| !entry.informer.has_exited()).map(|it| it.mapping.clone()).collect()
    }

    /// Returns whether a resource must not be cached (`catalog.C2`).
    pub(crate) fn withholds(&self, mapping: &Mapping) -> bool {
        self.inner.withholds(mapping)
    }

    /// Returns a resource for reading, and caches it if necessary (`catalog.C1`).
    ///
    /// # Errors
    /// If the resource does not exist, may not be cached (`catalog.C2`), or has no first list within
    /// [`FIRST_LIST_TIMEOUT`].
    pub async fn watched(&self, group: &str, version: &str, resource: &str) -> Result<Watched, CatalogError> {
        self.watch(&self.find(group, version, resource).await?).await
    }

    /// Returns a [known](Self::find) resource for reading. If dropped, its first list continues.
    ///
    /// # Errors
    /// As [`watched`](Self::watched).
    pub async fn watch(&self, mapping: &Arc<Mapping>) -> Result<Watched, CatalogError> {
        let watched = match self.inner.running(mapping) {
            Some(running) => running,
            None => self.inner.start_informer(mapping).await?,
        };
        if watched.is_ready() {
            return Ok(watched);
        }
        if timeout(FIRST_LIST_TIMEOUT, watched.informer.wait_until_ready()).await == Ok(true) {
            return Ok(watched);
        }
        // It may have been removed since the last discovery.
        if self.inner.may_rediscover() {
            self.inner.mapper.reset();
        }
        let of = &mapping.resource;
        let error = self.look_up(&of.group, &of.version, &of.resource).await.err();
        Err(error.unwrap_or_else(|| CatalogError::NotReady { resource: path_of(mapping) }))
    }

    /// Stops all informers.
    pub async fn stop(&self) {
        self.monitor.stop().await;
        self.sweeper.stop().await;
        self.inner.factory.stop().await;
    }
}

fn mapping(of: DefaultResource) -> Mapping {
    let DefaultResource { group, version, resource, kind, namespaced } = of;
    Mapping {
        resource: GroupVersionResource::new(group, version, resource),
        kind: GroupVersionKind::new(group, version, kind),
        singular: kind.to_lowercase(),
        namespaced,
    }
}

fn collection(mapping: &Mapping) -> Collection {
    let (resource, kind) = (&mapping.resource, &mapping.kind);
    Collection::new(&resource.group, &resource.version, &resource.resource, &kind.kind)
        .cluster_scoped(!mapping.namespaced)
}
