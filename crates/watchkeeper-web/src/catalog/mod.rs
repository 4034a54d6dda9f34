//! Catalog: which resources are cached, and how another comes to be.
//!
//! From: discovery, which knows what there is, and an informer factory.
//! To:   whoever reads: a [`Watched`] resource, whose informer has its first list.
//!
//! - C1: the resources of [`FROM_THE_START`] have informers from the start; any other gets one when it is first asked
//!   for, of which there are at most [`MAX_ON_DEMAND`]. One that nobody has read for [`IDLE`] ends, and when there are
//!   too many, the one that nobody has read for longest.
//! - C2: Secrets are not cached unless that was [asked for](CatalogBuilder::secrets).

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

/// What has an informer from the start: group, version, resource, kind.
pub const FROM_THE_START: [(&str, &str, &str, &str); 8] = [
    ("", "v1", "pods", "Pod"),
    ("", "v1", "services", "Service"),
    ("", "v1", "namespaces", "Namespace"),
    ("", "v1", "events", "Event"),
    ("apps", "v1", "deployments", "Deployment"),
    ("apps", "v1", "statefulsets", "StatefulSet"),
    ("apps", "v1", "daemonsets", "DaemonSet"),
    ("apps", "v1", "replicasets", "ReplicaSet"),
];
/// How many informers there may be beyond those.
pub const MAX_ON_DEMAND: usize = 64;
/// How long an informer on demand goes on when nobody reads it.
pub const IDLE: Duration = Duration::from_secs(600);
/// How often who subscribes looks at every object again.
pub const RESYNC: Duration = Duration::from_secs(60);
/// How long who asks for a resource waits for its first list.
pub const PATIENCE: Duration = Duration::from_secs(10);

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
    /// When the server was last asked again what it has, because something was not found.
    asked_again: Mutex<Option<Instant>>,
    /// Held while an informer is made or ended: one that ends is handed to nobody. Taken before `entries`.
    changing: tokio::sync::Mutex<()>,
    entries: RwLock<Vec<Entry>>,
}

/// How a catalog is set up.
#[derive(Debug)]
#[must_use]
pub struct CatalogBuilder {
    client: Client,
    secrets: bool,
}

impl CatalogBuilder {
    /// Whether Secrets may be cached.
    pub fn secrets(mut self, secrets: bool) -> Self {
        self.secrets = secrets;
        self
    }

    /// The catalog. Nothing is asked for before [`start`](Catalog::start).
    pub fn build(self) -> Catalog {
        // JSON, since it is what is sent on.
        let sources = self.client.sources().content(|_| Content::json());
        let factory = InformerFactory::builder(sources).resync(RESYNC).build();
        let permanent = FROM_THE_START.map(|names| {
            let mapping = Arc::new(mapping(names));
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
            asked_again: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            entries: RwLock::new(permanent.into()),
        };
        Catalog { inner: Arc::new(inner), sweeper: Arc::default(), monitor: Arc::default() }
    }
}

impl Catalog {
    /// Of what this client's server has.
    pub fn builder(client: &Client) -> CatalogBuilder {
        CatalogBuilder { client: client.clone(), secrets: false }
    }

    /// Starts the informers that are there from the start.
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

    /// What of it is current.
    pub fn freshness(&self) -> Freshness {
        self.monitor.now()
    }

    /// The same, with its changes.
    pub(crate) fn follow_freshness(&self) -> freshness::Receiver {
        self.monitor.subscribe()
    }

    /// The server's client.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Where the informers are.
    pub fn factory(&self) -> &InformerFactory {
        &self.inner.factory
    }

    /// What the server has.
    pub fn discovery(&self) -> &Arc<MemoryCache> {
        &self.inner.discovery
    }

    /// What a name stands for.
    pub fn mapper(&self) -> &RestMapper {
        &self.inner.mapper
    }

    /// The resources of [`FROM_THE_START`] that have no first list yet.
    pub fn unsynced(&self) -> Vec<Arc<Mapping>> {
        let entries = self.inner.entries.read();
        let late = entries.iter().filter(|entry| entry.is_permanent && !entry.informer.is_synced());
        late.map(|entry| entry.mapping.clone()).collect()
    }

    /// The resources of [`FROM_THE_START`].
    pub(crate) fn permanent(&self) -> Vec<Arc<Mapping>> {
        let entries = self.inner.entries.read();
        entries.iter().filter(|entry| entry.is_permanent).map(|entry| entry.mapping.clone()).collect()
    }

    /// The objects of the resources that can be read without waiting. That they are looked at together with others
    /// keeps none of them from being idle.
    pub fn snapshots(&self) -> Vec<(Arc<Mapping>, Snapshot)> {
        let entries = self.inner.entries.read();
        let living = entries.iter().filter(|entry| !entry.informer.has_ended() && entry.informer.is_synced());
        living.map(|entry| (entry.mapping.clone(), entry.informer.store().snapshot())).collect()
    }

    /// What is cached, whether it has its first list or not.
    pub fn cached(&self) -> Vec<Arc<Mapping>> {
        let entries = self.inner.entries.read();
        entries.iter().filter(|entry| !entry.informer.has_ended()).map(|it| it.mapping.clone()).collect()
    }

    /// Whether a resource is kept out of the cache (C2).
    pub(crate) fn withholds(&self, mapping: &Mapping) -> bool {
        self.inner.withholds(mapping)
    }

    /// A resource to read, which is cached from now on (C1).
    ///
    /// # Errors
    /// If there is no such resource, it may not be cached (C2), or it has no first list within [`PATIENCE`].
    pub async fn watched(&self, group: &str, version: &str, resource: &str) -> Result<Watched, CatalogError> {
        self.watch(&self.find(group, version, resource).await?).await
    }

    /// A resource to read of which it is [known](Self::find) what it is. Dropped half-way, its first list goes on.
    ///
    /// # Errors
    /// As [`watched`](Self::watched).
    pub async fn watch(&self, mapping: &Arc<Mapping>) -> Result<Watched, CatalogError> {
        let watched = match self.inner.taken(mapping) {
            Some(taken) => taken,
            None => self.inner.begin(mapping).await?,
        };
        if watched.is_synced() {
            return Ok(watched);
        }
        if timeout(PATIENCE, watched.informer.synced()).await == Ok(true) {
            return Ok(watched);
        }
        // It may have been there when the server was last asked what it has, and not now.
        if self.inner.may_ask_again() {
            self.inner.mapper.reset();
        }
        let of = &mapping.resource;
        let error = self.look_up(&of.group, &of.version, &of.resource).await.err();
        Err(error.unwrap_or_else(|| CatalogError::NotSynced { resource: path_of(mapping) }))
    }

    /// Ends all informers.
    pub async fn stop(&self) {
        self.monitor.stop().await;
        self.sweeper.stop().await;
        self.inner.factory.stop().await;
    }
}

fn mapping((group, version, resource, kind): (&str, &str, &str, &str)) -> Mapping {
    Mapping {
        resource: GroupVersionResource::new(group, version, resource),
        kind: GroupVersionKind::new(group, version, kind),
        singular: kind.to_lowercase(),
        namespaced: resource != "namespaces",
    }
}

fn collection(mapping: &Mapping) -> Collection {
    let (resource, kind) = (&mapping.resource, &mapping.kind);
    Collection::new(&resource.group, &resource.version, &resource.resource, &kind.kind)
        .cluster_scoped(!mapping.namespaced)
}
