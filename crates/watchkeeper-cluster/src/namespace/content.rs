//! Content: deletes the objects of one resource in a namespace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use watchkeeper_client::Client;
use watchkeeper_client::discovery::ApiResource;
use watchkeeper_client::dynamic::{DeleteOptions, ListOptions, Propagation};
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::rest::RequestError;
use watchkeeper_core::{ErrorChain, GroupVersion, GroupVersionResource, Status};

/// Estimated time that finalizers take, in seconds.
const FINALIZER_ESTIMATE: i64 = 15;

/// The objects of one resource in a namespace.
pub(super) struct Content {
    objects: ResourceClient<Partial>,
    /// Set for pods, which stop gracefully.
    pods: Option<ResourceClient<Pod>>,
    resource: ApiResource,
    namespace: String,
}

/// The remaining objects of a resource.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Estimated time until it is gone, in seconds; 0 if unknown, or if nothing is left.
    pub(super) estimate: i64,
    /// Number of objects.
    pub(super) count: usize,
    /// Number of objects held by each finalizer.
    pub(super) finalizers: BTreeMap<String, usize>,
}

#[derive(Serialize, Deserialize)]
struct Partial {
    metadata: PartialMeta,
}

#[derive(Serialize, Deserialize)]
struct PartialMeta {
    name: String,
    #[serde(default)]
    finalizers: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Pod {
    #[serde(default)]
    spec: PodSpec,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodSpec {
    termination_grace_period_seconds: i64,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct PodStatus {
    phase: String,
}

impl Content {
    pub(super) fn new(client: &Client, of: &GroupVersion, resource: &ApiResource, namespace: &str) -> Self {
        let all = client.dynamic(of, &resource.name).namespace(namespace);
        let is_graceful = of.group.is_empty() && resource.name == "pods";
        Self {
            pods: is_graceful.then(|| all.cast()),
            objects: all.metadata(),
            resource: resource.clone(),
            namespace: namespace.to_owned(),
        }
    }

    pub(super) fn is_of_pods(&self) -> bool {
        self.pods.is_some()
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn resource(&self) -> &GroupVersionResource {
        self.objects.resource()
    }

    /// Deletes all objects, and returns what is left and the error if any. `since` is how many seconds ago
    /// the namespace was deleted.
    pub(super) async fn delete(&self, since: i64) -> (Left, Option<String>) {
        let mut left = Left::default();
        let outcome = self.try_delete(since, &mut left).await;
        (left, outcome.err())
    }

    async fn try_delete(&self, since: i64, left: &mut Left) -> Result<(), String> {
        let text = |error: RequestError| ErrorChain(&error).to_string();
        let estimate = self.estimate().await.map_err(text)?;
        left.estimate = if since >= estimate { 0 } else { estimate };
        if !self.delete_all().await.map_err(text)? {
            self.delete_each().await.map_err(text)?;
        }
        let Some(remaining) = self.list().await.map_err(text)? else { return Ok(()) };
        left.count = remaining.len();
        for finalizer in remaining.into_iter().flat_map(|object| object.metadata.finalizers) {
            *left.finalizers.entry(finalizer).or_default() += 1;
        }
        if left.count == 0 {
            left.estimate = 0;
        } else if left.estimate == 0 && !left.finalizers.is_empty() {
            left.estimate = FINALIZER_ESTIMATE;
        } else if left.estimate == 0 {
            let GroupVersionResource { group, version, resource } = self.resource();
            let at = format!("{group}/{version}, Resource={resource}");
            return Err(format!(
                "unexpected items still remain in namespace: {} for gvr: {at}",
                self.namespace
            ));
        }
        Ok(())
    }

    /// Returns the longest grace period of the objects, in seconds.
    async fn estimate(&self) -> Result<i64, RequestError> {
        let Some(pods) = &self.pods else { return Ok(0) };
        let pods = pods.list(&ListOptions::default()).await?.items.into_iter();
        let running = pods.filter(|pod| !matches!(pod.status.phase.as_str(), "Succeeded" | "Failed"));
        Ok(running.map(|pod| pod.spec.termination_grace_period_seconds).max().unwrap_or(0).max(0))
    }

    /// Deletes the collection. Returns false if the resource does not support that.
    async fn delete_all(&self) -> Result<bool, RequestError> {
        if !self.resource.can("deletecollection") {
            return Ok(false);
        }
        match self.objects.delete_collection(&ListOptions::default(), &options()).await {
            Ok(_) => Ok(true),
            Err(error) if is_unsupported(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn delete_each(&self) -> Result<(), RequestError> {
        for object in self.list().await?.into_iter().flatten() {
            match self.objects.delete(&object.metadata.name, &options()).await {
                Err(error) if !is_unsupported(&error) => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Lists the objects. Returns `None` if the resource does not support that.
    async fn list(&self) -> Result<Option<Vec<Partial>>, RequestError> {
        if !self.resource.can("list") {
            return Ok(None);
        }
        match self.objects.list(&ListOptions::default()).await {
            Ok(list) => Ok(Some(list.items)),
            Err(error) if is_unsupported(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Background deletion: dependents are in the same namespace and are deleted anyway.
fn options() -> DeleteOptions {
    DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() }
}

fn is_unsupported(error: &RequestError) -> bool {
    error.is_not_found() || error.status().is_some_and(Status::is_method_not_supported)
}
