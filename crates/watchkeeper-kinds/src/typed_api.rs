//! The typed client of one kind.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use watchkeeper_client::Client;
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::rest::{Content, RateLimiter};
use watchkeeper_client::source::RestSource;
use watchkeeper_wire::Kind;

use crate::{ClusterScoped, Namespaced, PartialObjectMetadata, Resource};

/// A typed client for the objects of a kind in one namespace or all, with the verbs of [`ResourceClient`].
/// Clones are cheap.
///
/// `K` is a type of [`api`](crate::api) or of k8s-openapi, or your own type with kube-rs's `#[derive(CustomResource)]` or
/// a manual implementation of [`Resource`].
///
/// ```no_run
/// # async fn example(client: watchkeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_kinds::Api;
/// use watchkeeper_kinds::api::core::v1::{Node, Pod};
///
/// let pods = Api::<Pod>::namespaced(&client, "kube-system");
/// for pod in pods.list(&Default::default()).await?.items {
///     println!("{}", pod.metadata.name);
/// }
/// let node = Api::<Node>::cluster(&client).get("node-1").await?;
/// # Ok(())
/// # }
/// ```
pub struct Api<K> {
    objects: ResourceClient<K>,
}

impl<K: Resource> Api<K> {
    /// Creates a client for all namespaces, or for a cluster-scoped kind.
    pub fn all(client: &Client) -> Self {
        let kind = Kind::new(&K::group(), &K::version(), &K::kind());
        Self { objects: client.resource(&K::plural(), &kind) }
    }

    /// Creates a client for one namespace; an empty one stands for all namespaces.
    pub fn namespaced(client: &Client, namespace: &str) -> Self
    where
        K: Resource<Scope = Namespaced>,
    {
        Self { objects: Self::all(client).objects.namespace(namespace) }
    }

    /// Creates a client for the default namespace.
    pub fn default_namespaced(client: &Client) -> Self
    where
        K: Resource<Scope = Namespaced>,
    {
        Self::namespaced(client, client.default_namespace())
    }

    /// Creates a client for a cluster-scoped kind.
    pub fn cluster(client: &Client) -> Self
    where
        K: Resource<Scope = ClusterScoped>,
    {
        Self::all(client)
    }

    /// Returns a client that requests only the objects' metadata from the server.
    pub fn metadata_only(&self) -> ResourceClient<PartialObjectMetadata<K>> {
        self.objects.metadata()
    }

    /// Returns the collection as a source for an informer.
    pub fn source(&self) -> RestSource {
        self.objects.source(&K::kind())
    }
}

impl<K> Api<K> {
    /// Sets the content type. The default is protobuf for built-in kinds, and JSON for others.
    #[must_use]
    pub fn content(self, content: Content) -> Self {
        Self { objects: self.objects.content(content) }
    }

    /// Sets the rate limiter of all requests.
    #[must_use]
    pub fn rate_limiter(self, limiter: Arc<RateLimiter>) -> Self {
        Self { objects: self.objects.rate_limiter(limiter) }
    }
}

impl<K> Deref for Api<K> {
    type Target = ResourceClient<K>;

    fn deref(&self) -> &ResourceClient<K> {
        &self.objects
    }
}

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        Self { objects: self.objects.clone() }
    }
}

impl<K> fmt::Debug for Api<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Api").field(&self.objects).finish()
    }
}
