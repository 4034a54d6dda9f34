//! Factory builder: the defaults that all informers of a factory share.

use std::collections::BTreeMap;
use std::time::Duration;

use watchkeeper_core::{Collection, FieldSelector, LabelSelector, ListWatchFactory};

use super::InformerFactory;
use crate::handler::Resync;
use crate::reflector::Reflector;
use crate::store::Writer;

pub(super) type Configure = dyn Fn(&Collection, Reflector<Writer>) -> Reflector<Writer> + Send + Sync;

/// A builder of an [`InformerFactory`]: see [`InformerFactory::builder`].
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

/// The defaults that all informers of a factory share.
#[derive(Default)]
pub(super) struct Settings {
    namespaces: Vec<String>,
    labels: LabelSelector,
    fields: FieldSelector,
    is_metadata: bool,
    resync: Resync,
    /// Keyed by group and resource.
    resyncs: BTreeMap<(String, String), Resync>,
    pub(super) configure: Option<Box<Configure>>,
}

impl FactoryBuilder {
    pub(super) fn new(sources: Box<dyn ListWatchFactory>) -> Self {
        Self { sources, settings: Settings::default() }
    }

    /// Sets the namespaces of namespaced collections that do not set their own; all namespaces by default.
    ///
    /// Several namespaces are served by one informer. [Cluster-scoped](Collection::cluster_scoped) collections are not
    /// affected.
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item: Into<String>>) -> Self {
        self.settings.namespaces = namespaces.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the label selector of collections that do not set their own. The server applies it to lists and watches.
    pub fn labels(mut self, selector: LabelSelector) -> Self {
        self.settings.labels = selector;
        self
    }

    /// Sets the field selector of collections that do not set their own. The server applies it to lists and watches.
    pub fn fields(mut self, selector: FieldSelector) -> Self {
        self.settings.fields = selector;
        self
    }

    /// Requests only the metadata of objects (`PartialObjectMetadata`).
    pub fn metadata_only(mut self) -> Self {
        self.settings.is_metadata = true;
        self
    }

    /// Sets the resync period of subscriptions that do not set their own; never by default.
    pub fn resync(mut self, period: Duration) -> Self {
        self.settings.resync = Resync::Every(period);
        self
    }

    /// Sets the default resync period of one resource; overrides [`resync`](Self::resync).
    pub fn resync_of(mut self, group: &str, resource: &str, resync: Resync) -> Self {
        self.settings.resyncs.insert((group.to_owned(), resource.to_owned()), resync);
        self
    }

    /// Sets a function that configures the reflector of each collection, for example its page size, its observer, or
    /// the behaviour when the collection is removed.
    pub fn configure(
        mut self,
        configure: impl Fn(&Collection, Reflector<Writer>) -> Reflector<Writer> + Send + Sync + 'static,
    ) -> Self {
        self.settings.configure = Some(Box::new(configure));
        self
    }

    /// Creates the factory. Sends no request.
    pub fn build(self) -> InformerFactory {
        InformerFactory::with_settings(self.sources, self.settings)
    }
}

impl Settings {
    /// Returns the collection with defaults filled in.
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
