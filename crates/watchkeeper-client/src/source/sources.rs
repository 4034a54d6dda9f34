//! Sources of all collections of a server.

use std::fmt;
use std::sync::Arc;

use watchkeeper_core::{Collection, ListWatch, ListWatchFactory, Union};
use watchkeeper_wire::{Kind, ReadOptions};

use super::RestSource;
use crate::Client;
use crate::rest::Content;

type PerCollection<T> = Arc<dyn Fn(&Collection) -> T + Send + Sync>;

/// Sources of a server's collections, for an informer factory. Clones are cheap.
///
/// ```no_run
/// # fn example(client: &watchkeeper_client::Client) {
/// use watchkeeper_wire::ReadOptions;
///
/// let sources = client.sources().read_options(|collection| match collection.resource() {
///     "pods" => ReadOptions::keeping(["spec.nodeName", "status.phase"].map(|path| path.parse().unwrap())),
///     _ => ReadOptions::default(),
/// });
/// # }
/// ```
#[derive(Clone)]
pub struct RestListWatchFactory {
    client: Client,
    read_options: PerCollection<ReadOptions>,
    content: PerCollection<Content>,
}

impl RestListWatchFactory {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            read_options: Arc::new(|_| ReadOptions::default()),
            content: Arc::new(|collection| Content::for_kind(&collection.kind().into())),
        }
    }

    /// Sets the fields to keep of each collection's objects; others are removed while they arrive. By default
    /// `managedFields` is removed. A path that a built-in kind does not have fails the lists of that collection.
    #[must_use]
    pub fn read_options(
        mut self,
        read_options: impl Fn(&Collection) -> ReadOptions + Send + Sync + 'static,
    ) -> Self {
        self.read_options = Arc::new(read_options);
        self
    }

    /// Sets the encoding of each collection. By default protobuf for built-in kinds and for metadata, and JSON for others.
    #[must_use]
    pub fn content(mut self, content: impl Fn(&Collection) -> Content + Send + Sync + 'static) -> Self {
        self.content = Arc::new(content);
        self
    }
}

impl ListWatchFactory for RestListWatchFactory {
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch> {
        if let Some(union) = Union::of_namespaces(collection, |one| self.source(one)) {
            return Box::new(union);
        }
        let kind = Kind::from(collection.kind());
        let rest = self.client.rest(&collection.group_version(), (self.content)(collection));
        let mut source = RestSource::new(rest, collection.resource(), kind)
            .labels(collection.label_selector().clone())
            .fields(collection.field_selector().clone())
            .read_options((self.read_options)(collection));
        if let Some(namespace) = collection.in_namespace() {
            source = source.namespace(namespace);
        }
        if collection.is_metadata_only() {
            source = source.metadata_only();
        }
        Box::new(source)
    }
}

impl fmt::Debug for RestListWatchFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestListWatchFactory").field("client", &self.client).finish_non_exhaustive()
    }
}
