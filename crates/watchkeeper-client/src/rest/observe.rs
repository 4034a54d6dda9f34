//! Write observer: reports the objects that a future writes.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use serde::Deserialize;
use watchkeeper_core::{GroupResource, ObjectKey, ResourceVersion};

use super::Response;

tokio::task_local! {
    static OBSERVER: Observer;
}

type Observer = Arc<dyn Fn(&WrittenObject) + Send + Sync>;

/// An object that was written, as the server returned it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WrittenObject {
    /// The resource that was written to.
    pub resource: GroupResource,
    /// The kind of the object.
    pub kind: String,
    /// The key of the object.
    pub key: ObjectKey,
    /// Its version after the write.
    pub resource_version: ResourceVersion,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// Runs a future, and calls `observer` with every object that it creates, updates, patches or starts to delete.
///
/// Dry runs are not reported, nor are writes by tasks that the future spawns, and responses without an object.
pub async fn observe_writes<F: Future>(
    observer: impl Fn(&WrittenObject) + Send + Sync + 'static,
    future: F,
) -> F::Output {
    OBSERVER.scope(Arc::new(observer), future).await
}

/// Reports the response to a write, if an observer is set.
pub(super) fn notify(resource: Option<GroupResource>, response: &Response) {
    let Ok(observer) = OBSERVER.try_with(Arc::clone) else { return };
    if let Some(object) = resource.and_then(|resource| WrittenObject::read(resource, response)) {
        observer(&object);
    }
}

#[derive(Deserialize)]
struct Partial {
    #[serde(default)]
    metadata: PartialMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PartialMeta {
    name: String,
    namespace: Option<String>,
    resource_version: String,
    labels: BTreeMap<String, String>,
}

impl WrittenObject {
    fn read(resource: GroupResource, response: &Response) -> Option<Self> {
        let (_, kind) = response.object_type()?;
        if kind == "Status" {
            return None;
        }
        let PartialMeta { name, namespace, resource_version, labels } =
            response.clone().into::<Partial>().ok()?.metadata;
        if name.is_empty() || resource_version.is_empty() {
            return None;
        }
        let key = match namespace.filter(|namespace| !namespace.is_empty()) {
            Some(namespace) => ObjectKey::namespaced(&namespace, &name),
            None => ObjectKey::cluster(&name),
        };
        let resource_version = resource_version.as_str().into();
        Some(Self { resource, kind, key, resource_version, labels })
    }
}
