//! Subresources of objects.

use http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::verbs::{send_apply, send_patch};
use super::{ApplyOptions, ResourceClient, WriteOptions};
use crate::rest::{PatchKind, RequestError};

impl<T> ResourceClient<T> {
    /// Reads a subresource of an object: `status`, `scale`.
    ///
    /// # Errors
    /// As [`get`](Self::get). The same applies to all methods below.
    pub async fn get_subresource<S: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
    ) -> Result<S, RequestError> {
        self.object_request(Method::GET, name).subresource(subresource).send().await?.into()
    }

    /// Creates a subresource of an object: `eviction`, `binding`, `token`.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn create_subresource<S: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        object: &impl Serialize,
        options: &WriteOptions,
    ) -> Result<S, RequestError> {
        let request = self.object_request(Method::POST, name).subresource(subresource);
        options.add_to(request).object(object).send().await?.into()
    }

    /// Updates a subresource of an object, such as its `status`, and nothing else.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn update_subresource<S: Serialize + DeserializeOwned>(
        &self,
        subresource: &str,
        object: &S,
        options: &WriteOptions,
    ) -> Result<S, RequestError> {
        let encoded = self.encode(object)?;
        let request = self.object_request(Method::PUT, &encoded.name).subresource(subresource);
        options.add_to(request).json_object(encoded.json).send().await?.into()
    }

    /// Patches a subresource of an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn patch_subresource<S: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        kind: PatchKind,
        patch: &impl Serialize,
        options: &WriteOptions,
    ) -> Result<S, RequestError> {
        send_patch(self.object_request(Method::PATCH, name).subresource(subresource), kind, patch, options)
            .await
    }

    /// Applies a subresource of an object (server-side apply).
    ///
    /// # Errors
    /// As [`apply_object`](Self::apply_object).
    pub async fn apply_subresource<S: DeserializeOwned>(
        &self,
        subresource: &str,
        object: &impl Serialize,
        options: &ApplyOptions,
    ) -> Result<S, RequestError> {
        let encoded = self.encode(object)?;
        let request = self.object_request(Method::PATCH, &encoded.name).subresource(subresource);
        send_apply(request, encoded.json, options).await
    }
}

impl<T: Serialize + DeserializeOwned> ResourceClient<T> {
    /// Reads an object through its `status` subresource.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_status(&self, name: &str) -> Result<T, RequestError> {
        self.get_subresource(name, "status").await
    }

    /// Updates the status of an object, and nothing else.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn update_status(&self, object: &T, options: &WriteOptions) -> Result<T, RequestError> {
        self.update_subresource("status", object, options).await
    }

    /// Patches the status of an object, and nothing else.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn patch_status(
        &self,
        name: &str,
        kind: PatchKind,
        patch: &impl Serialize,
        options: &WriteOptions,
    ) -> Result<T, RequestError> {
        self.patch_subresource(name, "status", kind, patch, options).await
    }

    /// Applies the status of an object (server-side apply).
    ///
    /// # Errors
    /// As [`apply_object`](Self::apply_object).
    pub async fn apply_object_status(
        &self,
        object: &impl Serialize,
        options: &ApplyOptions,
    ) -> Result<T, RequestError> {
        self.apply_subresource("status", object, options).await
    }
}
