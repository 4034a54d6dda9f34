//! Typed clients for every built-in resource, generated from the resource tables.
//!
//! Input: a [`Client`].
//! Output: an [`Api`](crate::Api) for the kind of the resource.

mod generated;

use std::ops::Deref;
use std::sync::Arc;

use watchkeeper_client::rest::RateLimiter;
use watchkeeper_client::{Client, ClientError};

pub use generated::*;

/// Typed clients for the built-in resources, as client-go's `Clientset`: a method per group version, each with a
/// method per resource. The methods have client-go's names.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_kinds::ClientSet;
///
/// let client = ClientSet::infer()?; // or ClientSet::from(&client)
/// for pod in client.core_v1().pods("kube-system").list(&Default::default()).await?.items {
///     println!("{}", pod.metadata.name);
/// }
/// let everywhere = client.apps_v1().deployments("").list(&Default::default()).await?;
/// let node = client.core_v1().nodes().get("node-1").await?;
/// # Ok(())
/// # }
/// ```
///
/// It derefs to [`Client`]. For custom resources use [`Client::dynamic`], or an [`Api`](crate::Api) with your own
/// type.
#[derive(Clone, Debug)]
pub struct ClientSet {
    client: Client,
}

impl ClientSet {
    /// Creates a client set that shares the client's connections.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Creates a client set for the configured server: see [`Client::infer`].
    ///
    /// # Errors
    /// If the configuration is missing or invalid.
    pub fn infer() -> Result<Self, ClientError> {
        Client::infer().map(Self::new)
    }

    /// Sets the rate limiter of all requests: see [`Client::rate_limiter`].
    #[must_use]
    pub fn rate_limiter(self, rate_limiter: Arc<RateLimiter>) -> Self {
        Self { client: self.client.rate_limiter(rate_limiter) }
    }
}

impl From<Client> for ClientSet {
    fn from(client: Client) -> Self {
        Self::new(client)
    }
}

impl From<&Client> for ClientSet {
    fn from(client: &Client) -> Self {
        Self::new(client.clone())
    }
}

impl Deref for ClientSet {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl AsRef<Client> for ClientSet {
    fn as_ref(&self) -> &Client {
        &self.client
    }
}
