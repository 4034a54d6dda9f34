//! Source: a collection of an API server that can be listed and watched.
//!
//! Input: a [`RestClient`], a resource and selectors.
//! Output: consumers of a [`ListWatch`]: the reflector.
//!
//! Invariants:
//! - `source.S1`: a list or watch is decoded as it arrives, object by object, and is never held whole. Of each object,
//!   the metadata is parsed, and the fields that the [`ReadOptions`] remove are cut from the body.
//! - `source.S2`: an undecodable object ends the list or watch; earlier events of a watch remain valid, earlier items of
//!   a list do not.

mod list;
mod read;
mod sources;
mod watch;

use std::sync::Arc;

use watchkeeper_core::{
    FieldSelector, LabelSelector, ListRequest, ListStream, ListWatch, WatchFuture, WatchRequest,
};
use watchkeeper_wire::{Kind, ReadOptions};

use crate::rest::{Request, RestClient, Shape};
use read::Reading;

pub use sources::RestListWatchFactory;

pub(crate) use read::{Read, encoding_of};
pub(crate) use watch::open_watch;

/// A collection as a [`ListWatch`]. Clones are cheap. (client-go: `cache.ListWatch`.)
///
/// ```no_run
/// # fn example(core: watchkeeper_client::RestClient) -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_client::source::RestSource;
/// use watchkeeper_wire::Kind;
///
/// let pods = RestSource::new(core, "pods", Kind::new("", "v1", "Pod"))
///     .namespace("shop")
///     .labels("app=web".parse()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RestSource {
    client: RestClient,
    resource: Arc<str>,
    kind: Kind,
    namespace: Option<Arc<str>>,
    labels: LabelSelector,
    fields: FieldSelector,
    read_options: Arc<ReadOptions>,
    shape: Shape,
}

impl RestSource {
    /// Creates a source of all objects of a resource. The path of `client` must be that of the group version.
    pub fn new(client: RestClient, resource: &str, kind: Kind) -> Self {
        Self {
            client,
            resource: resource.into(),
            kind,
            namespace: None,
            labels: LabelSelector::default(),
            fields: FieldSelector::default(),
            read_options: Arc::default(),
            shape: Shape::Whole,
        }
    }

    /// Restricts the source to a namespace; all namespaces by default.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Selects by labels.
    #[must_use]
    pub fn labels(mut self, selector: LabelSelector) -> Self {
        self.labels = selector;
        self
    }

    /// Selects by fields.
    #[must_use]
    pub fn fields(mut self, selector: FieldSelector) -> Self {
        self.fields = selector;
        self
    }

    /// Sets which fields of each object to keep. By default `managedFields` is removed.
    #[must_use]
    pub fn read_options(mut self, read_options: ReadOptions) -> Self {
        self.read_options = Arc::new(read_options);
        self
    }

    /// Requests only metadata. The kind becomes `PartialObjectMetadata`.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.kind = Kind::new("meta.k8s.io", "v1", "PartialObjectMetadata");
        self.shape = Shape::Metadata;
        self
    }

    fn request(&self, query: Vec<(&'static str, String)>) -> Request {
        let request = self.client.get().resource(&self.resource).params(query);
        let request = request.selecting(&self.labels, &self.fields);
        match &self.namespace {
            Some(namespace) => request.namespace(namespace),
            None => request,
        }
    }

    fn reading(&self) -> Reading {
        Reading::new(self.kind.clone(), self.read_options.clone())
    }
}

impl ListWatch for RestSource {
    fn list(&self, request: ListRequest) -> ListStream {
        let shape = match self.shape {
            Shape::Whole => Shape::Whole,
            Shape::Metadata | Shape::MetadataList => Shape::MetadataList,
        };
        list::open(self.request(request.query()).shape(shape), self.reading())
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        watch::open(self.request(request.query()).shape(self.shape), self.reading())
    }
}
