//! Subresources of pods.

use serde::Serialize;
use watchkeeper_client::resource::WriteOptions;
use watchkeeper_client::rest::{Content, PatchKind, RequestError};
use watchkeeper_client::streams::PodStreams;
use watchkeeper_core::Status;

use crate::Api;
use crate::api::core::v1::{Binding, Pod};
use crate::api::meta::v1::ObjectMeta;
use crate::api::policy::v1::Eviction;

impl Api<Pod> {
    /// Returns a client for logs, exec, attach and port forwarding.
    ///
    /// ```no_run
    /// # async fn example(client: watchkeeper_kinds::ClientSet) -> Result<(), Box<dyn std::error::Error>> {
    /// let pods = client.core_v1().pods("shop");
    /// let done = pods.streams("web-0").exec(["nginx", "-s", "reload"], &Default::default()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn streams(&self, name: &str) -> PodStreams {
        let rest = self.rest().clone().content(Content::json());
        PodStreams::new(rest, self.in_namespace().unwrap_or_default(), name)
    }

    /// Evicts a pod if its disruption budgets allow it; otherwise the server responds with 429. The eviction's name
    /// defaults to the pod's, so `Eviction::default()` is sufficient.
    ///
    /// # Errors
    /// As [`get`](watchkeeper_client::resource::ResourceClient::get).
    pub async fn evict(
        &self,
        name: &str,
        eviction: &Eviction,
        options: &WriteOptions,
    ) -> Result<Status, RequestError> {
        let mut eviction = eviction.clone();
        name_default(&mut eviction.metadata, name);
        self.create_subresource(name, "eviction", &eviction, options).await
    }

    /// Binds a pod to a node, as a scheduler does. The binding's name defaults to the pod's.
    ///
    /// # Errors
    /// As [`evict`](Self::evict).
    pub async fn bind(
        &self,
        name: &str,
        binding: &Binding,
        options: &WriteOptions,
    ) -> Result<Status, RequestError> {
        let mut binding = binding.clone();
        name_default(&mut binding.metadata, name);
        self.create_subresource(name, "binding", &binding, options).await
    }

    /// Gets a pod with its ephemeral containers.
    ///
    /// # Errors
    /// As [`evict`](Self::evict).
    pub async fn get_ephemeral_containers(&self, name: &str) -> Result<Pod, RequestError> {
        self.get_subresource(name, "ephemeralcontainers").await
    }

    /// Updates only the ephemeral containers of a pod. They cannot be removed.
    ///
    /// # Errors
    /// As [`evict`](Self::evict).
    pub async fn update_ephemeral_containers(
        &self,
        pod: &Pod,
        options: &WriteOptions,
    ) -> Result<Pod, RequestError> {
        self.update_subresource("ephemeralcontainers", pod, options).await
    }

    /// Patches only the ephemeral containers of a pod.
    ///
    /// # Errors
    /// As [`evict`](Self::evict).
    pub async fn patch_ephemeral_containers(
        &self,
        name: &str,
        kind: PatchKind,
        patch: &impl Serialize,
        options: &WriteOptions,
    ) -> Result<Pod, RequestError> {
        self.patch_subresource(name, "ephemeralcontainers", kind, patch, options).await
    }

    /// Gets a pod through its `resize` subresource.
    ///
    /// # Errors
    /// As [`evict`](Self::evict).
    pub async fn get_resize(&self, name: &str) -> Result<Pod, RequestError> {
        self.get_subresource(name, "resize").await
    }

    /// Updates only the resources of a pod's containers.
    ///
    /// # Errors
    /// As [`evict`](Self::evict).
    pub async fn update_resize(&self, pod: &Pod, options: &WriteOptions) -> Result<Pod, RequestError> {
        self.update_subresource("resize", pod, options).await
    }

    /// Patches only the resources of a pod's containers.
    ///
    /// # Errors
    /// As [`evict`](Self::evict).
    pub async fn patch_resize(
        &self,
        name: &str,
        kind: PatchKind,
        patch: &impl Serialize,
        options: &WriteOptions,
    ) -> Result<Pod, RequestError> {
        self.patch_subresource(name, "resize", kind, patch, options).await
    }
}

/// Sets the name of an object that has none.
fn name_default(metadata: &mut ObjectMeta, name: &str) {
    if metadata.name.is_empty() {
        metadata.name = name.into();
    }
}
