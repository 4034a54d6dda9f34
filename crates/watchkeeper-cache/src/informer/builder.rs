//! Builder: what the informers of a factory have in common.

use std::collections::BTreeMap;
use std::time::Duration;

use watchkeeper_core::{Collection, FieldSelector, LabelSelector, ListWatchFactory};

use super::InformerFactory;
use crate::handler::Resync;
use crate::reflector::Reflector;
use crate::store::Writer;

pub(super) type Configure = dyn Fn(&Collection, Reflector<Writer>) -> Reflector<Writer> + Send + Sync;

/// How a factory is to be: see [`InformerFactory::builder`].
///
/// ```no_run
/// # fn example(server: impl watchkeeper_core::ListWatchFactory + 'static) -> Result<(), Box<dyn std::error::Error>> {
/// use std::num::NonZeroU32;
/// use std::time::Duration;
/// use watchkeeper_cache::InformerFactory;
/// use watchkeeper_cache::handler::Resync;
///
/// let factory = InformerFactory::builder(server)
///     .namespaces(["shop", "bank"])
///     .labels("app.kubernetes.io/part-of=shop".parse()?)
///     .resync(Duration::from_secs(600))
///     .resync_of("", "pods", Resync::Never)
///     .configure(|collection, reflector| match collection.resource() {
///         "events" => reflector.page_size(NonZeroU32::MIN.saturating_add(9_999)),
///         _ => reflector,
///     })
///     .build();
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct FactoryBuilder {
    sources: Box<dyn ListWatchFactory>,
    settings: Settings,
}

/// What the informers of a factory have in common.
#[derive(Default)]
pub(super) struct Settings {
    namespaces: Vec<String>,
    labels: LabelSelector,
    fields: FieldSelector,
    is_metadata: bool,
    resync: Resync,
    /// By group and resource.
    resyncs: BTreeMap<(String, String), Resync>,
    pub(super) configure: Option<Box<Configure>>,
}

impl FactoryBuilder {
    pub(super) fn new(sources: Box<dyn ListWatchFactory>) -> Self {
        Self { sources, settings: Settings::default() }
    }

    /// Of these namespaces are the collections that name none, unless they are
    /// [in none](Collection::cluster_scoped). Several are one informer. By default all namespaces.
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item: Into<String>>) -> Self {
        self.settings.namespaces = namespaces.into_iter().map(Into::into).collect();
        self
    }

    /// With these labels are the collections that name none. It is part of every list and of every watch.
    pub fn labels(mut self, selector: LabelSelector) -> Self {
        self.settings.labels = selector;
        self
    }

    /// With these fields are the collections that name none. It is part of every list and of every watch.
    pub fn fields(mut self, selector: FieldSelector) -> Self {
        self.settings.fields = selector;
        self
    }

    /// Only the metadata of all objects: the server sends nothing else.
    pub fn metadata_only(mut self) -> Self {
        self.settings.is_metadata = true;
        self
    }

    /// How often who subscribes, and does not say so himself, looks at every object again; never by default.
    pub fn resync(mut self, period: Duration) -> Self {
        self.settings.resync = Resync::Every(period);
        self
    }

    /// The same for one resource, which wins.
    pub fn resync_of(mut self, group: &str, resource: &str, resync: Resync) -> Self {
        self.settings.resyncs.insert((group.to_owned(), resource.to_owned()), resync);
        self
    }

    /// Sets up the reflector of a collection as one likes: page sizes, patience, an observer of its failures,
    /// what to do when the collection is gone.
    pub fn configure(
        mut self,
        configure: impl Fn(&Collection, Reflector<Writer>) -> Reflector<Writer> + Send + Sync + 'static,
    ) -> Self {
        self.settings.configure = Some(Box::new(configure));
        self
    }

    /// The factory. Nothing is asked for yet.
    pub fn build(self) -> InformerFactory {
        InformerFactory::of(self.sources, self.settings)
    }
}

impl Settings {
    /// A collection as it is where it does not say so itself.
    pub(super) fn complete(&self, collection: &Collection) -> Collection {
        let mut whole = collection.clone();
        if collection.in_namespaces().is_empty() && !collection.is_cluster_scoped() {
            whole = whole.namespaces(&self.namespaces);
        }
        if collection.label_selector().is_everything() {
            whole = whole.labels(&self.labels);
        }
        if collection.field_selector().is_everything() {
            whole = whole.fields(&self.fields);
        }
        if self.is_metadata {
            whole = whole.metadata_only();
        }
        whole
    }

    pub(super) fn resync(&self, collection: &Collection) -> Resync {
        let resource = (collection.group_version().group, collection.resource().to_owned());
        self.resyncs.get(&resource).copied().unwrap_or_default().or(self.resync)
    }
}

impl std::fmt::Debug for FactoryBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FactoryBuilder")
            .field("namespaces", &self.settings.namespaces)
            .finish_non_exhaustive()
    }
}
