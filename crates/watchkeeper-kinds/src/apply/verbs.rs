//! Server-side apply of typed configurations.

use serde::Serialize;
use serde::de::DeserializeOwned;
use watchkeeper_client::resource::ApplyOptions;
use watchkeeper_client::rest::RequestError;

use super::ApplyConfiguration;
use crate::Api;

impl<K: Serialize + DeserializeOwned> Api<K> {
    /// Applies an object with server-side apply; creates it if it does not exist.
    ///
    /// What has no apply type is applied by [`ResourceClient::apply`], which takes anything:
    /// `ResourceClient::apply(&api, &object, &options)`.
    ///
    /// # Errors
    /// As [`ResourceClient::apply`].
    ///
    /// [`ResourceClient::apply`]: watchkeeper_client::resource::ResourceClient::apply
    pub async fn apply<A>(&self, object: &A, options: &ApplyOptions) -> Result<K, RequestError>
    where
        A: ApplyConfiguration<Kind = K>,
    {
        (**self).apply(object, options).await
    }

    /// Applies the status of an object with server-side apply.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub async fn apply_status<A>(&self, object: &A, options: &ApplyOptions) -> Result<K, RequestError>
    where
        A: ApplyConfiguration<Kind = K>,
    {
        (**self).apply_status(object, options).await
    }
}
