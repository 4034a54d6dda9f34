//! What can be asked of a pod.

use k8s_openapi::api::core::v1::{Binding, Pod};
use k8s_openapi::api::policy::v1::Eviction;
use serde::Serialize;
use watchkeeper_client::resource::WriteOptions;
use watchkeeper_client::rest::{Content, PatchKind, RequestError};
use watchkeeper_client::streams::PodStreams;
use watchkeeper_core::Status;

use crate::Api;

impl Api<Pod> {
    /// The logs of a pod, programs in its containers, and its ports.
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

    /// Deletes a pod if its disruption budgets allow it; if not, it is refused with 429. What is evicted has
    /// the pod's name unless it has one: `Eviction::default()` will do.
    ///
    /// # Errors
    /// As [`get`](watchkeeper_client::resource::ResourceClient::get); so for all that follow.
    pub async fn evict(
        &self,
        name: &str,
        eviction: &Eviction,
        options: &WriteOptions,
    ) -> Result<Status, RequestError> {
        let mut eviction = eviction.clone();
        eviction.metadata.name.get_or_insert_with(|| name.to_owned());
        self.create_subresource(name, "eviction", &eviction, options).await
    }

    /// Gives a pod to a node, as a scheduler does. What is bound has the pod's name unless it has one.
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
        binding.metadata.name.get_or_insert_with(|| name.to_owned());
        self.create_subresource(name, "binding", &binding, options).await
    }

    /// A pod, as its ephemeral containers have it.
    ///
    /// # Errors
    /// As [`evict`](Self::evict).
    pub async fn get_ephemeral_containers(&self, name: &str) -> Result<Pod, RequestError> {
        self.get_subresource(name, "ephemeralcontainers").await
    }

    /// Writes the ephemeral containers of a pod, and nothing else of it. None can be taken away.
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

    /// Changes the ephemeral containers of a pod, and nothing else of it.
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

    /// A pod, as its resizing has it.
    ///
    /// # Errors
    /// As [`evict`](Self::evict).
    pub async fn get_resize(&self, name: &str) -> Result<Pod, RequestError> {
        self.get_subresource(name, "resize").await
    }

    /// Writes the resources of a pod's containers, and nothing else of it.
    ///
    /// # Errors
    /// As [`evict`](Self::evict).
    pub async fn update_resize(&self, pod: &Pod, options: &WriteOptions) -> Result<Pod, RequestError> {
        self.update_subresource("resize", pod, options).await
    }

    /// Changes the resources of a pod's containers, and nothing else of it.
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
