//! Subresources: parts of an object that are read and written apart, and what can be asked of it.

use http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::verbs::{applied, patched};
use super::{ApplyOptions, ResourceClient, WriteOptions};
use crate::rest::{PatchKind, RequestError};

impl<T> ResourceClient<T> {
    /// Reads a subresource of an object: `status`, `scale`.
    ///
    /// # Errors
    /// As [`get`](Self::get); so for all that follow.
    pub async fn get_subresource<S: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
    ) -> Result<S, RequestError> {
        self.one(Method::GET, name).subresource(subresource).send().await?.into()
    }

    /// Creates below an object: `eviction`, `binding`, `token`.
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
        let request = self.one(Method::POST, name).subresource(subresource);
        options.add_to(request).object(object).send().await?.into()
    }

    /// Writes a subresource of an object, such as its `status`, and nothing else.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn update_subresource<S: Serialize + DeserializeOwned>(
        &self,
        subresource: &str,
        object: &S,
        options: &WriteOptions,
    ) -> Result<S, RequestError> {
        let written = self.written(object)?;
        let request = self.one(Method::PUT, &written.name).subresource(subresource);
        options.add_to(request).written_object(written.json).send().await?.into()
    }

    /// Changes a subresource of an object.
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
        patched(self.one(Method::PATCH, name).subresource(subresource), kind, patch, options).await
    }

    /// Makes a subresource of an object what a manager wants of it.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub async fn apply_subresource<S: DeserializeOwned>(
        &self,
        subresource: &str,
        object: &impl Serialize,
        options: &ApplyOptions,
    ) -> Result<S, RequestError> {
        let written = self.written(object)?;
        let request = self.one(Method::PATCH, &written.name).subresource(subresource);
        applied(request, written.json, options).await
    }
}

impl<T: Serialize + DeserializeOwned> ResourceClient<T> {
    /// An object, as its status has it.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_status(&self, name: &str) -> Result<T, RequestError> {
        self.get_subresource(name, "status").await
    }

    /// Writes the status of an object, and nothing else of it.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn update_status(&self, object: &T, options: &WriteOptions) -> Result<T, RequestError> {
        self.update_subresource("status", object, options).await
    }

    /// Changes the status of an object, and nothing else of it.
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

    /// Makes the status of an object what a manager wants of it.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub async fn apply_status(
        &self,
        object: &impl Serialize,
        options: &ApplyOptions,
    ) -> Result<T, RequestError> {
        self.apply_subresource("status", object, options).await
    }
}
