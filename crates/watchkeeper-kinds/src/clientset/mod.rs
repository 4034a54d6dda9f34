//! ClientSet: every built-in resource by its name.
//!
//! From: a [`Client`], and the tables of resources, from which the methods are generated.
//! To:   an [`Api`](crate::Api) of the kind that belongs to the resource.

mod generated;

use std::ops::Deref;

use watchkeeper_client::{Client, ClientError};

pub use generated::*;

/// The built-in resources of a server: a method for each group and version, and on what it returns one for
/// each resource. The methods have client-go's names.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_kinds::ClientSet;
///
/// let client = ClientSet::infer()?; // or from a Client that is there: ClientSet::from(&client)
/// for pod in client.core_v1().pods("kube-system").list(&Default::default()).await?.items {
///     println!("{}", pod.metadata.name.unwrap_or_default());
/// }
/// let everywhere = client.apps_v1().deployments("").list(&Default::default()).await?;
/// let node = client.core_v1().nodes().get("node-1").await?;
/// # Ok(())
/// # }
/// ```
///
/// It is a [`Client`] too: what has no method here, custom resources above all, is had by
/// [`Client::dynamic`] or by an [`Api`](crate::Api) of one's own type.
#[derive(Clone, Debug)]
pub struct ClientSet {
    client: Client,
}

impl ClientSet {
    /// The resources of the client's server. Connections are shared.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Those of the server that is configured: see [`Client::infer`].
    ///
    /// # Errors
    /// If nothing is configured, or it makes no sense.
    pub fn infer() -> Result<Self, ClientError> {
        Client::infer().map(Self::new)
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
