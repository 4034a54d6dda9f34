//! Typed methods for subresources. For `status` see
//! [`update_status`](watchkeeper_client::resource::ResourceClient::update_status).

mod pod;
mod scale;

use serde::Serialize;
use watchkeeper_client::resource::WriteOptions;
use watchkeeper_client::rest::{PatchKind, RequestError};

use crate::Api;
use crate::api::authentication::v1::TokenRequest;
use crate::api::certificates::v1::CertificateSigningRequest;
use crate::api::core::v1::{Namespace, ServiceAccount};

pub use scale::Scaled;

impl Api<ServiceAccount> {
    /// Requests a token for a service account. It is in the status of the result.
    ///
    /// # Errors
    /// As [`get`](watchkeeper_client::resource::ResourceClient::get).
    pub async fn create_token(
        &self,
        name: &str,
        request: &TokenRequest,
        options: &WriteOptions,
    ) -> Result<TokenRequest, RequestError> {
        self.create_subresource(name, "token", request, options).await
    }
}

impl Api<Namespace> {
    /// Updates the finalizers in a namespace's spec. A namespace that is being deleted is removed when none are left.
    ///
    /// # Errors
    /// As [`get`](watchkeeper_client::resource::ResourceClient::get).
    pub async fn finalize(
        &self,
        namespace: &Namespace,
        options: &WriteOptions,
    ) -> Result<Namespace, RequestError> {
        self.update_subresource("finalize", namespace, options).await
    }
}

impl Api<CertificateSigningRequest> {
    /// Gets the approval of a request.
    ///
    /// # Errors
    /// As [`get`](watchkeeper_client::resource::ResourceClient::get).
    pub async fn get_approval(&self, name: &str) -> Result<CertificateSigningRequest, RequestError> {
        self.get_subresource(name, "approval").await
    }

    /// Updates the conditions `Approved` and `Denied` in a request's status.
    ///
    /// # Errors
    /// As [`get_approval`](Self::get_approval).
    pub async fn update_approval(
        &self,
        request: &CertificateSigningRequest,
        options: &WriteOptions,
    ) -> Result<CertificateSigningRequest, RequestError> {
        self.update_subresource("approval", request, options).await
    }

    /// Patches the conditions `Approved` and `Denied` in a request's status.
    ///
    /// # Errors
    /// As [`get_approval`](Self::get_approval).
    pub async fn patch_approval(
        &self,
        name: &str,
        kind: PatchKind,
        patch: &impl Serialize,
        options: &WriteOptions,
    ) -> Result<CertificateSigningRequest, RequestError> {
        self.patch_subresource(name, "approval", kind, patch, options).await
    }
}
