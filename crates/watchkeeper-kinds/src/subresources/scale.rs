//! The `scale` subresource.

use serde::Serialize;
use watchkeeper_client::resource::{ApplyOptions, WriteOptions};
use watchkeeper_client::rest::{PatchKind, RequestError};

use crate::Api;
use crate::api::autoscaling::v1::Scale;
use crate::apply::autoscaling::v1::ScaleApply;

/// A kind with a `scale` subresource.
///
/// Implemented for built-in kinds. For a custom resource with the subresource: `impl Scaled for Mine {}`.
pub trait Scaled {}

impl<K: Scaled> Api<K> {
    /// Gets the scale of an object.
    ///
    /// # Errors
    /// As [`get`](watchkeeper_client::resource::ResourceClient::get).
    pub async fn get_scale(&self, name: &str) -> Result<Scale, RequestError> {
        self.get_subresource(name, "scale").await
    }

    /// Updates the scale of the object with the same name. If the scale has a resource version, it must be current.
    ///
    /// # Errors
    /// As [`get_scale`](Self::get_scale).
    pub async fn update_scale(&self, scale: &Scale, options: &WriteOptions) -> Result<Scale, RequestError> {
        self.update_subresource("scale", scale, options).await
    }

    /// Patches the scale of an object.
    ///
    /// # Errors
    /// As [`get_scale`](Self::get_scale).
    pub async fn patch_scale(
        &self,
        name: &str,
        kind: PatchKind,
        patch: &impl Serialize,
        options: &WriteOptions,
    ) -> Result<Scale, RequestError> {
        self.patch_subresource(name, "scale", kind, patch, options).await
    }

    /// Applies the scale of the object with the same name, with server-side apply.
    ///
    /// # Errors
    /// As [`apply`](watchkeeper_client::resource::ResourceClient::apply_object).
    pub async fn apply_scale(
        &self,
        scale: &ScaleApply,
        options: &ApplyOptions,
    ) -> Result<Scale, RequestError> {
        self.apply_subresource("scale", scale, options).await
    }
}
