//! Catalog: which resources are cached, and how another comes to be.
//!
//! From: discovery, which knows what there is, and an informer factory.
//! To:   whoever reads: a [`Watched`] resource, whose informer has its first list.
//!
//! - C1: the resources of [`FROM_THE_START`] have informers from the start; any other gets one when it is first asked
//!   for, of which there are at most [`MAX_ON_DEMAND`].
//! - C2: Secrets are not cached unless that was [asked for](CatalogBuilder::secrets).

mod error;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use watchkeeper_cache::{Informer, InformerFactory};
use watchkeeper_client::Client;
use watchkeeper_client::discovery::{
    Discovery, DiscoveryClient, Mapping, MemoryCache, PartialResource, RestMapper,
};
use watchkeeper_client::rest::{Content, RestClient};
use watchkeeper_core::Collection;

pub use error::CatalogError;

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
/// How often who subscribes looks at every object again.
pub const RESYNC: Duration = Duration::from_secs(60);
/// How long who asks for a resource waits for its first list.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The cached resources of a server. Clones are cheap and share everything.
#[derive(Debug, Clone)]
pub struct Catalog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    client: Client,
    factory: InformerFactory,
    discovery: Arc<MemoryCache>,
    mapper: RestMapper,
    secrets: bool,
}

/// A resource whose informer has its first list.
#[derive(Debug, Clone)]
pub struct Watched {
    /// What it is.
    pub mapping: Mapping,
    /// Its informer.
    pub informer: Informer,
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
        for (group, version, resource, kind) in FROM_THE_START {
            factory.informer(&Collection::new(group, version, resource, kind));
        }
        let rest = RestClient::new(self.client.transport().clone(), "/", Content::json());
        let discovery = Arc::new(MemoryCache::new(Arc::new(DiscoveryClient::new(rest))));
        let mapper = RestMapper::new(Arc::clone(&discovery) as Arc<dyn Discovery>);
        let inner = Inner { client: self.client, factory, discovery, mapper, secrets: self.secrets };
        Catalog { inner: Arc::new(inner) }
    }
}

impl Catalog {
    /// Of what this client's server has.
    pub fn builder(client: &Client) -> CatalogBuilder {
        CatalogBuilder { client: client.clone(), secrets: false }
    }

    /// Starts the informers that are there from the start.
    pub fn start(&self) {
        self.inner.factory.start();
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

    /// What a resource is, by its exact names; the group is empty for core.
    ///
    /// # Errors
    /// If the server has none, or cannot be asked.
    pub async fn find(&self, group: &str, version: &str, resource: &str) -> Result<Mapping, CatalogError> {
        let partial = PartialResource {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
        };
        Ok(self.inner.mapper.resource(&partial).await?)
    }

    /// A resource to read, which is cached from now on (C1).
    ///
    /// # Errors
    /// If there is no such resource, it may not be cached (C2), or it has no first list within [`PATIENCE`].
    pub async fn watched(&self, group: &str, version: &str, resource: &str) -> Result<Watched, CatalogError> {
        let mapping = self.find(group, version, resource).await?;
        if !self.inner.secrets && mapping.resource.group.is_empty() && mapping.resource.resource == "secrets"
        {
            return Err(CatalogError::Withheld { resource: mapping.resource.resource });
        }
        let (resource, kind) = (&mapping.resource, &mapping.kind);
        let collection = Collection::new(&resource.group, &resource.version, &resource.resource, &kind.kind)
            .cluster_scoped(!mapping.namespaced);
        let informer = self.inner.factory.informer(&collection);
        informer.start();
        match timeout(PATIENCE, informer.synced()).await {
            Ok(true) => Ok(Watched { mapping, informer }),
            Ok(false) | Err(_) => Err(CatalogError::NotSynced { resource: collection.to_string() }),
        }
    }

    /// Ends all informers.
    pub async fn stop(&self) {
        self.inner.factory.stop().await;
    }
}
