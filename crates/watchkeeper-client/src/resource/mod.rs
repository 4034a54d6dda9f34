//! Resource client: the verbs of one resource, for any serializable type.
//!
//! Input: a [`RestClient`] and the name of a resource.
//! Output: objects of a type: untyped ([`dynamic`](crate::dynamic)), generated, or the caller's own.
//!
//! Invariants:
//! - `resource.V1`: an object is sent as serde serializes it, and its name is read from there. No trait binds the type.
//! - `resource.V2`: every returned object has its apiVersion and kind, also in lists, if its type has these fields.

mod deleted;
mod list;
mod options;
mod subresources;
mod verbs;
mod watch;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use http::Method;
use watchkeeper_core::GroupVersionResource;
use watchkeeper_wire::{Kind, Limits};

use crate::rest::{Content, RateLimiter, Request, RestClient, Shape, WarningHandler};
use crate::source::RestSource;

pub use deleted::Deleted;
pub use list::List;
pub use options::{ApplyOptions, DeleteOptions, ListOptions, Propagation, WriteOptions};
pub use verbs::DeletedCollection;
pub use watch::EventStream;
pub use watchkeeper_core::ListMeta;

/// Maximum size of a response with a single object, in bytes; as for an item of a list or watch. A request
/// of [`ResourceClient::rest`] can set its own [limit](Request::max_response_bytes).
pub const MAX_OBJECT_BYTES: u64 = Limits::DEFAULT.object_bytes as u64;

/// A client for the objects of one resource, in one namespace or in all. Clones are cheap. (kube-rs: `Api<T>`.)
///
/// ```no_run
/// # async fn example(client: watchkeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use serde::{Deserialize, Serialize};
/// use watchkeeper_client::resource::ResourceClient;
/// use watchkeeper_wire::Kind;
///
/// /// The part of a pod that this program uses.
/// #[derive(Serialize, Deserialize)]
/// struct Placed {
///     spec: Spec,
/// }
///
/// #[derive(Serialize, Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Spec {
///     node_name: Option<String>,
/// }
///
/// let pods: ResourceClient<Placed> = client.resource("pods", &Kind::new("", "v1", "Pod"));
/// for pod in pods.namespace("shop").list(&Default::default()).await?.items {
///     println!("{:?}", pod.spec.node_name);
/// }
/// # Ok(())
/// # }
/// ```
pub struct ResourceClient<T> {
    client: RestClient,
    resource: GroupVersionResource,
    /// `None` if unknown: then objects are JSON.
    kind: Option<Kind>,
    namespace: Option<String>,
    shape: Shape,
    of: PhantomData<fn() -> T>,
}

impl<T> ResourceClient<T> {
    /// Creates a client for a resource of unknown kind. `client` must use JSON.
    pub(crate) fn untyped(client: RestClient, resource: GroupVersionResource) -> Self {
        Self { client, resource, kind: None, namespace: None, shape: Shape::Whole, of: PhantomData }
    }

    /// Sets the handler for the server's warnings: see [`RestClient::warnings`].
    #[must_use]
    pub fn warnings(mut self, warnings: Arc<dyn WarningHandler>) -> Self {
        self.client = self.client.warnings(warnings);
        self
    }

    /// Sets the rate limiter of all requests: see [`RestClient::rate_limiter`].
    #[must_use]
    pub fn rate_limiter(mut self, limiter: Arc<RateLimiter>) -> Self {
        self.client = self.client.rate_limiter(limiter);
        self
    }

    /// Creates a client for a resource of this kind. The path of `client` must be that of the group version.
    pub fn new(client: RestClient, resource: &str, kind: Kind) -> Self {
        let name = kind.name();
        let resource = GroupVersionResource {
            group: name.group.clone(),
            version: name.version.clone(),
            resource: resource.to_owned(),
        };
        Self { kind: Some(kind), ..Self::untyped(client, resource) }
    }

    /// Restricts the client to a namespace; empty means all namespaces.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty());
        self
    }

    /// Sets the encoding. A client without a kind must keep JSON.
    #[must_use]
    pub fn content(mut self, content: Content) -> Self {
        self.client = self.client.content(content);
        self
    }

    /// Returns the namespace; `None` for all namespaces.
    pub fn in_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the resource.
    pub fn resource(&self) -> &GroupVersionResource {
        &self.resource
    }

    /// Returns the REST client of the group version.
    pub fn rest(&self) -> &RestClient {
        &self.client
    }

    /// Returns a client for the same objects as another type.
    pub fn cast<V>(&self) -> ResourceClient<V> {
        ResourceClient {
            client: self.client.clone(),
            resource: self.resource.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            shape: self.shape,
            of: PhantomData,
        }
    }

    /// Returns a client for the metadata of the same objects; the server sends nothing else.
    pub fn metadata<M>(&self) -> ResourceClient<M> {
        ResourceClient { shape: Shape::Metadata, ..self.cast() }
    }

    /// Returns the collection as a source for an informer, in the encoding of this client.
    pub fn source(&self, kind: &str) -> RestSource {
        let kind = Kind::new(&self.resource.group, &self.resource.version, kind);
        let source = RestSource::new(self.client.clone(), &self.resource.resource, kind);
        match &self.namespace {
            Some(namespace) => source.namespace(namespace),
            None => source,
        }
    }

    fn collection_request(&self, method: Method) -> Request {
        let request = self.client.request(method).resource(&self.resource.resource).shape(self.shape);
        match &self.namespace {
            Some(namespace) => request.namespace(namespace),
            None => request,
        }
    }

    fn object_request(&self, method: Method, name: &str) -> Request {
        self.limit_to_object(self.collection_request(method).name(name))
    }

    /// Limits the response to the size of a single object.
    fn limit_to_object(&self, request: Request) -> Request {
        request.max_response_bytes(MAX_OBJECT_BYTES.min(self.client.transport().max_response_bytes()))
    }
}

impl<T> Clone for ResourceClient<T> {
    fn clone(&self) -> Self {
        self.cast()
    }
}

impl<T> fmt::Debug for ResourceClient<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ResourceClient");
        debug.field("resource", &self.resource).field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
