//! Scale: how many replicas there are to be, whatever the kind.

use k8s_openapi::api::autoscaling::v1::Scale;
use serde::Serialize;
use watchkeeper_client::resource::{ApplyOptions, WriteOptions};
use watchkeeper_client::rest::{PatchKind, RequestError};

use crate::Api;
use crate::apply::autoscaling::v1::ScaleApply;

/// A kind whose objects have a scale.
///
/// The built-in ones have it; a custom resource that declares the subresource can have it too:
/// `impl Scaled for Mine {}`.
pub trait Scaled {}

impl<K: Scaled> Api<K> {
    /// The scale of an object.
    ///
    /// # Errors
    /// As [`get`](watchkeeper_client::resource::ResourceClient::get); so for all that follow.
    pub async fn get_scale(&self, name: &str) -> Result<Scale, RequestError> {
        self.get_subresource(name, "scale").await
    }

    /// Writes the scale of the object of that name. With a version, it must be the newest of the object.
    ///
    /// # Errors
    /// As [`get_scale`](Self::get_scale).
    pub async fn update_scale(&self, scale: &Scale, options: &WriteOptions) -> Result<Scale, RequestError> {
        self.update_subresource("scale", scale, options).await
    }

    /// Changes the scale of an object.
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

    /// Makes the scale of the object of that name what a manager wants of it.
    ///
    /// # Errors
    /// As [`apply`](watchkeeper_client::resource::ResourceClient::apply).
    pub async fn apply_scale(
        &self,
        scale: &ScaleApply,
        options: &ApplyOptions,
    ) -> Result<Scale, RequestError> {
        self.apply_subresource("scale", scale, options).await
    }
}
