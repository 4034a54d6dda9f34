//! Source: a collection of an API server that can be listed and watched.
//!
//! From: a [`RestClient`], a resource and selectors.
//! To:   whoever takes a [`ListWatch`]: the reflector.
//!
//! - S1: an object is read while it arrives: its head, and its body without what the intake cuts out. Nothing
//!   holds a whole list.
//! - S2: what cannot be read ends the list or the watch; what was read before it counts for the watch and not
//!   for the list.

mod list;
mod read;
mod sources;
mod watch;

use std::sync::Arc;

use watchkeeper_core::{
    FieldSelector, LabelSelector, ListRequest, ListStream, ListWatch, WatchOpening, WatchRequest,
};
use watchkeeper_wire::{Intake, Kind};

use crate::rest::{Request, RestClient, Shape};
use read::Reading;

pub use sources::RestSources;

pub(crate) use read::{Read, encoding_of};
pub(crate) use watch::watched;

/// A collection, as a [`ListWatch`]. Clones are cheap.
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
    intake: Arc<Intake>,
    shape: Shape,
}

impl RestSource {
    /// All objects of a resource. The client's path is that of the group and version.
    pub fn new(client: RestClient, resource: &str, kind: Kind) -> Self {
        Self {
            client,
            resource: resource.into(),
            kind,
            namespace: None,
            labels: LabelSelector::default(),
            fields: FieldSelector::default(),
            intake: Arc::default(),
            shape: Shape::Whole,
        }
    }

    /// Only those of a namespace; of all of them by default.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only those with such labels.
    #[must_use]
    pub fn labels(mut self, selector: LabelSelector) -> Self {
        self.labels = selector;
        self
    }

    /// Only those with such fields.
    #[must_use]
    pub fn fields(mut self, selector: FieldSelector) -> Self {
        self.fields = selector;
        self
    }

    /// What is kept of an object. By default `managedFields` are cut out.
    #[must_use]
    pub fn intake(mut self, intake: Intake) -> Self {
        self.intake = Arc::new(intake);
        self
    }

    /// Only their metadata: the server sends nothing else. The kind is that of a `PartialObjectMetadata` then.
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
        Reading::new(self.kind.clone(), self.intake.clone())
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

    fn watch(&self, request: WatchRequest) -> WatchOpening {
        watch::open(self.request(request.query()).shape(self.shape), self.reading())
    }
}
