//! Client: one server, from which all other clients are had.

use watchkeeper_core::{Collection, GroupVersion, GroupVersionResource, ListWatch, Sources};
use watchkeeper_wire::Kind;

use crate::config::{Config, ConfigError};
use crate::dynamic::DynamicApi;
use crate::resource::ResourceClient;
use crate::rest::{Content, RestClient};
use crate::source::RestSources;
use crate::streams::PodStreams;
use crate::transport::{Body, BuildError, Transport, TransportError, Upgrade};

/// A server, and who asks it. Clones share connections.
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

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// There is no configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The configuration makes no sense.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl Client {
    /// Nothing is sent yet.
    ///
    /// # Errors
    /// If the config makes no sense.
    pub fn new(config: &Config) -> Result<Self, BuildError> {
        Ok(Self { transport: Transport::from_config(config)?, namespace: config.namespace.clone() })
    }

    /// What is configured: see [`Config::infer`].
    ///
    /// # Errors
    /// If nothing is configured, or it makes no sense.
    pub fn infer() -> Result<Self, ClientError> {
        Ok(Self::new(&Config::infer()?)?)
    }

    /// The way to the server.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// The namespace of requests that name none.
    pub fn default_namespace(&self) -> &str {
        &self.namespace
    }

    /// Requests of a group and version.
    pub fn rest(&self, group_version: &GroupVersion, content: Content) -> RestClient {
        RestClient::of(self.transport.clone(), group_version, content)
    }

    /// Objects of any resource as trees of values, in all namespaces until one is named.
    pub fn dynamic(&self, group_version: &GroupVersion, resource: &str) -> DynamicApi {
        let resource = GroupVersionResource {
            group: group_version.group.clone(),
            version: group_version.version.clone(),
            resource: resource.to_owned(),
        };
        DynamicApi::untyped(self.rest(group_version, Content::json()), resource)
    }

    /// Objects of any resource, of which only the metadata is sent.
    pub fn metadata(&self, group_version: &GroupVersion, resource: &str) -> DynamicApi {
        self.dynamic(group_version, resource).metadata()
    }

    /// Objects of a kind as `T`s, in all namespaces until one is named: in protobuf if the kind is built in,
    /// in JSON otherwise.
    pub fn resource<T>(&self, resource: &str, kind: &Kind) -> ResourceClient<T> {
        ResourceClient::new(
            self.rest(&kind.name().group_version(), Content::of(kind)),
            resource,
            kind.clone(),
        )
    }

    /// The logs of a pod, programs in its containers, and its ports.
    pub fn pod(&self, namespace: &str, name: &str) -> PodStreams {
        let core = GroupVersion { group: String::new(), version: "v1".to_owned() };
        PodStreams::new(self.rest(&core, Content::json()), namespace, name)
    }

    /// Every collection, to list and to watch: for an informer factory that keeps only some fields of objects.
    pub fn sources(&self) -> RestSources {
        RestSources::new(self.clone())
    }

    /// Sends a request that asks for another protocol: see [`Transport::upgrade`].
    ///
    /// # Errors
    /// If there is no answer. A refusal is an answer.
    pub async fn upgrade(&self, request: http::Request<Body>) -> Result<Upgrade, TransportError> {
        self.transport.upgrade(request).await
    }
}

/// Those of [`Client::sources`], as they are by default.
impl Sources for Client {
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch> {
        self.sources().source(collection)
    }
}
