//! Resource: the verbs of one resource, over objects of any type that can be written and read.
//!
//! From: a [`RestClient`] and the name of a resource.
//! To:   objects of a type: a tree of values ([`dynamic`](crate::dynamic)), a generated type, one's own.
//!
//! - V1: what is written is sent as serde writes it; its name is read from there. No trait binds the type.
//! - V2: every object that is returned says what it is, items of lists too, if its type can hold it.

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

use crate::rest::{Content, Request, RestClient, Shape, Warnings};
use crate::source::RestSource;

pub use deleted::Deleted;
pub use list::List;
pub use options::{ApplyOptions, DeleteOptions, ListOptions, Propagation, WriteOptions};
pub use verbs::DeletedMany;
pub use watch::EventStream;

/// The most bytes of an answer that is a single object: as many as an item of a list or of a watch may have. A request
/// of [`ResourceClient::rest`] can have a [limit](Request::max_response_bytes) of its own.
pub const MAX_OBJECT_BYTES: u64 = Limits::DEFAULT.object_bytes as u64;

/// The objects of one resource as `T`s, in one namespace or in all. Clones are cheap.
///
/// ```no_run
/// # async fn example(client: watchkeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use serde::{Deserialize, Serialize};
/// use watchkeeper_client::resource::ResourceClient;
/// use watchkeeper_wire::Kind;
///
/// /// All that this program wants to know of a pod.
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
    /// `None` where only the server knows: then in JSON.
    kind: Option<Kind>,
    namespace: Option<String>,
    shape: Shape,
    of: PhantomData<fn() -> T>,
}

impl<T> ResourceClient<T> {
    /// The objects of a resource, whatever kind they are. The client must speak JSON.
    pub(crate) fn untyped(client: RestClient, resource: GroupVersionResource) -> Self {
        Self { client, resource, kind: None, namespace: None, shape: Shape::Whole, of: PhantomData }
    }

    /// Who hears of the server's warnings: see [`RestClient::warnings`].
    #[must_use]
    pub fn warnings(mut self, warnings: Arc<dyn Warnings>) -> Self {
        self.client = self.client.warnings(warnings);
        self
    }

    /// The objects of a resource that are of this kind. The client's path is that of the group and version.
    pub fn new(client: RestClient, resource: &str, kind: Kind) -> Self {
        let name = kind.name();
        let resource = GroupVersionResource {
            group: name.group.clone(),
            version: name.version.clone(),
            resource: resource.to_owned(),
        };
        Self { kind: Some(kind), ..Self::untyped(client, resource) }
    }

    /// Only in this namespace; an empty one stands for all of them.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty());
        self
    }

    /// In this encoding. One that was made without a kind must be left in JSON.
    #[must_use]
    pub fn content(mut self, content: Content) -> Self {
        self.client = self.client.content(content);
        self
    }

    /// In which namespace; `None` for all of them.
    pub fn in_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Which resource this is of.
    pub fn resource(&self) -> &GroupVersionResource {
        &self.resource
    }

    /// Requests of the same group and version.
    pub fn rest(&self) -> &RestClient {
        &self.client
    }

    /// The same objects as another type.
    pub fn viewed_as<V>(&self) -> ResourceClient<V> {
        ResourceClient {
            client: self.client.clone(),
            resource: self.resource.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            shape: self.shape,
            of: PhantomData,
        }
    }

    /// Only the metadata of the same objects: the server sends nothing else.
    pub fn metadata<M>(&self) -> ResourceClient<M> {
        ResourceClient { shape: Shape::Metadata, ..self.viewed_as() }
    }

    /// The collection as the cache wants it. It is read in the encoding of this client.
    pub fn source(&self, kind: &str) -> RestSource {
        let kind = Kind::new(&self.resource.group, &self.resource.version, kind);
        let source = RestSource::new(self.client.clone(), &self.resource.resource, kind);
        match &self.namespace {
            Some(namespace) => source.namespace(namespace),
            None => source,
        }
    }

    fn all(&self, method: Method) -> Request {
        let request = self.client.request(method).resource(&self.resource.resource).shape(self.shape);
        match &self.namespace {
            Some(namespace) => request.namespace(namespace),
            None => request,
        }
    }

    fn one(&self, method: Method, name: &str) -> Request {
        self.limited(self.all(method).name(name))
    }

    /// A request that is answered by a single object.
    fn limited(&self, request: Request) -> Request {
        request.max_response_bytes(MAX_OBJECT_BYTES.min(self.client.transport().max_response_bytes()))
    }
}

impl<T> Clone for ResourceClient<T> {
    fn clone(&self) -> Self {
        self.viewed_as()
    }
}

impl<T> fmt::Debug for ResourceClient<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ResourceClient");
        shown.field("resource", &self.resource).field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
