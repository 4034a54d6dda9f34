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
    /// For objects without an apply type, use [`apply_object`].
    ///
    /// # Errors
    /// As [`apply_object`].
    ///
    /// [`apply_object`]: watchkeeper_client::resource::ResourceClient::apply_object
    pub async fn apply<A>(&self, object: &A, options: &ApplyOptions) -> Result<K, RequestError>
    where
        A: ApplyConfiguration<Kind = K>,
    {
        self.apply_object(object, options).await
    }

    /// Applies the status of an object with server-side apply.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub async fn apply_status<A>(&self, object: &A, options: &ApplyOptions) -> Result<K, RequestError>
    where
        A: ApplyConfiguration<Kind = K>,
    {
        self.apply_object_status(object, options).await
    }
}
