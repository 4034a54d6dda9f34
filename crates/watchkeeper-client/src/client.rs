//! Client: the entry point for one server.

use watchkeeper_core::{Collection, GroupVersion, GroupVersionResource, ListWatch, Sources};
use watchkeeper_wire::Kind;

use crate::config::{Config, ConfigError};
use crate::dynamic::DynamicApi;
use crate::resource::ResourceClient;
use crate::rest::{Content, RestClient};
use crate::source::RestSources;
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
        Ok(Self { transport: Transport::from_config(config)?, namespace: config.namespace.clone() })
    }

    /// Creates a client from the environment: see [`Config::infer`].
    ///
    /// # Errors
    /// If nothing is configured, or the configuration is invalid.
    pub fn infer() -> Result<Self, ClientError> {
        Ok(Self::new(&Config::infer()?)?)
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
        RestClient::for_group_version(self.transport.clone(), group_version, content)
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

    /// Returns a factory of sources for informers, whose intake can be configured.
    pub fn sources(&self) -> RestSources {
        RestSources::new(self.clone())
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
impl Sources for Client {
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch> {
        self.sources().source(collection)
    }
}
