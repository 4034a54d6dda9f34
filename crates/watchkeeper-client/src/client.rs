//! Client: the entry point for one server.

use std::sync::Arc;

use watchkeeper_core::{Collection, GroupVersion, GroupVersionResource, ListWatch, ListWatchFactory};
use watchkeeper_wire::Kind;

use crate::config::{Config, ConfigError};
use crate::discovery::DiscoveryClient;
use crate::dynamic::DynamicApi;
use crate::resource::ResourceClient;
use crate::rest::{Content, RateLimiter, RestClient};
use crate::source::RestListWatchFactory;
use crate::streams::PodStreams;
use crate::transport::{Body, BuildError, Transport, TransportError, Upgrade};

/// A client for one server. Clones share connections.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_client::Client;
///
/// let client = Client::infer()?; // $KUBECONFIG, ~/.kube/config, or a pod's service account
/// let pods = client.dynamic(&"v1".parse()?, "pods").namespace("kube-system");
/// for pod in pods.list(&Default::default()).await?.items {
///     println!("{}", pod.name());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    transport: Transport,
    namespace: String,
    rate_limiter: Option<Arc<RateLimiter>>,
}

/// An error creating a client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The configuration could not be loaded.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The configuration is invalid.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl Client {
    /// Creates a client. Nothing is sent yet.
    ///
    /// # Errors
    /// If the config is invalid.
    pub fn new(config: &Config) -> Result<Self, BuildError> {
        Ok(Self {
            transport: Transport::from_config(config)?,
            namespace: config.namespace.clone(),
            rate_limiter: config.qps.map(|qps| Arc::new(RateLimiter::new(qps, config.burst))),
        })
    }

    /// Creates a client from the environment: see [`Config::infer`].
    ///
    /// # Errors
    /// If nothing is configured, or the configuration is invalid.
    pub fn infer() -> Result<Self, ClientError> {
        Ok(Self::new(&Config::infer()?)?)
    }

    /// Sets the rate limiter of all requests made through this client, in place of that of [`Config::qps`]. Clients
    /// derived from this one share it.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use watchkeeper_client::Client;
    /// use watchkeeper_client::rest::RateLimiter;
    ///
    /// // At most 20 requests per second, with bursts of up to 40.
    /// let client = Client::infer()?.rate_limiter(Arc::new(RateLimiter::new(20.0, 40)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn rate_limiter(mut self, rate_limiter: Arc<RateLimiter>) -> Self {
        self.rate_limiter = Some(rate_limiter);
        self
    }

    /// Returns the transport.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Returns the default namespace.
    pub fn default_namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns a REST client for a group version.
    pub fn rest(&self, group_version: &GroupVersion, content: Content) -> RestClient {
        self.limit(RestClient::for_group_version(self.transport.clone(), group_version, content))
    }

    /// Returns a discovery client.
    ///
    /// ```no_run
    /// # async fn example(client: watchkeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use watchkeeper_client::discovery::Discovery as _;
    ///
    /// let discovery = client.discovery();
    /// println!("{}", discovery.server_version().await?.git_version);
    /// for (group_version, resource) in discovery.discover().await?.resources() {
    ///     println!("{group_version} {}", resource.name);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn discovery(&self) -> DiscoveryClient {
        DiscoveryClient::new(self.limit(RestClient::new(self.transport.clone(), "/", Content::json())))
    }

    fn limit(&self, rest: RestClient) -> RestClient {
        match &self.rate_limiter {
            Some(rate_limiter) => rest.rate_limiter(rate_limiter.clone()),
            None => rest,
        }
    }

    /// Returns a client for untyped objects of a resource, in all namespaces unless one is set.
    pub fn dynamic(&self, group_version: &GroupVersion, resource: &str) -> DynamicApi {
        let resource = GroupVersionResource {
            group: group_version.group.clone(),
            version: group_version.version.clone(),
            resource: resource.to_owned(),
        };
        DynamicApi::untyped(self.rest(group_version, Content::json()), resource)
    }

    /// Returns a client for the metadata of a resource's objects; the server sends nothing else.
    pub fn metadata(&self, group_version: &GroupVersion, resource: &str) -> DynamicApi {
        self.dynamic(group_version, resource).metadata()
    }

    /// Returns a client for typed objects of a resource, in all namespaces unless one is set. Uses protobuf for built-in
    /// kinds and JSON for others.
    pub fn resource<T>(&self, resource: &str, kind: &Kind) -> ResourceClient<T> {
        ResourceClient::new(
            self.rest(&kind.name().group_version(), Content::for_kind(kind)),
            resource,
            kind.clone(),
        )
    }

    /// Returns a client for the logs of a pod, and for exec, attach and port-forward.
    pub fn pod(&self, namespace: &str, name: &str) -> PodStreams {
        let core = GroupVersion { group: String::new(), version: "v1".to_owned() };
        PodStreams::new(self.rest(&core, Content::json()), namespace, name)
    }

    /// Returns a factory of sources for informers, whose [read options](RestListWatchFactory::read_options) can be set.
    pub fn sources(&self) -> RestListWatchFactory {
        RestListWatchFactory::new(self.clone())
    }

    /// Requests a protocol upgrade: see [`Transport::upgrade`].
    ///
    /// # Errors
    /// If there is no response. An error status is a response.
    pub async fn upgrade(&self, request: http::Request<Body>) -> Result<Upgrade, TransportError> {
        self.transport.upgrade(request).await
    }
}

/// Uses [`Client::sources`] with its defaults.
impl ListWatchFactory for Client {
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch> {
        self.sources().source(collection)
    }
}
