//! In-process sources: every collection of the store, for informers of this process.
//!
//! Input: the store and the registry of a server.
//! Output: an informer factory, without connections.

use std::sync::Arc;

use crate::http::no_such_resource;
use crate::registry::SharedRegistry;
use crate::store::Store;
use futures_util::{StreamExt as _, stream};
use watchkeeper_core::{
    Collection, ListRequest, ListStream, ListWatch, ListWatchFactory, Union, WatchFuture, WatchRequest,
};

use super::{Reader, Scope, StoreSource, View};

/// The collections of a server for clients in its process: see
/// [`ApiServer::sources`](crate::server::ApiServer::sources). Clones share the server.
///
/// Objects share their bytes with the store, and keep all fields, including `managedFields`. Injected faults do not
/// affect them.
#[derive(Clone)]
pub struct StoreListWatchFactory {
    registry: SharedRegistry,
    store: Arc<dyn Store>,
}

impl StoreListWatchFactory {
    /// Creates sources for the resources of a registry in a store.
    pub fn new(registry: impl Into<SharedRegistry>, store: Arc<dyn Store>) -> Self {
        Self { registry: registry.into(), store }
    }

    /// Returns the source of a resource; `None` if the resource does not exist.
    pub fn of(
        &self,
        group: &str,
        version: &str,
        resource: &str,
        namespace: Option<&str>,
    ) -> Option<StoreSource> {
        let registry = self.registry.now();
        let resource = registry.get(group, version, resource)?.clone();
        let view = View::of(&registry, &resource);
        let scope = Scope { resource, namespace: namespace.map(str::to_owned), name: None, view };
        Some(StoreSource::new(Reader::new(self.store.clone()), scope))
    }
}

/// An unknown resource fails with 404, as over the network.
impl ListWatchFactory for StoreListWatchFactory {
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch> {
        if let Some(union) = Union::of_namespaces(collection, |one| self.source(one)) {
            return Box::new(union);
        }
        let at = collection.group_version();
        let found = self.of(&at.group, &at.version, collection.resource(), collection.in_namespace());
        let Some(mut source) = found else { return Box::new(Absent) };
        source = source.labels(collection.label_selector()).fields(collection.field_selector());
        if collection.is_metadata_only() {
            source = source.metadata_only();
        }
        Box::new(source)
    }
}

/// The source of an unknown resource.
struct Absent;

impl ListWatch for Absent {
    fn list(&self, _: ListRequest) -> ListStream {
        stream::iter([Err(no_such_resource().into())]).boxed()
    }

    fn watch(&self, _: WatchRequest) -> WatchFuture {
        Box::pin(std::future::ready(Err(no_such_resource().into())))
    }
}
