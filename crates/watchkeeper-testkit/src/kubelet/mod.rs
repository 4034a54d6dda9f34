//! Kubelet: a node that answers for its pods, and runs nothing.
//!
//! From: the API server of a cluster, over TLS, as it asks any kubelet.
//! To:   the test, which writes logs and looks at what is open.
//!
//! - L1: what it says of logs, programs and ports is the same every time: see [`Kubelet`].
//! - L2: a kubelet that is stopped or dropped leaves nothing behind.

mod handler;
mod log;
mod ports;
mod program;
mod websocket;

use std::net::Ipv4Addr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use watchkeeper_apiserver::http::{
    Anonymous, Authenticator, Authority, CertificateError, HandlerChain, Identity, ListenError, Listener,
    Security,
};
use watchkeeper_core::Status;

use crate::TestCluster;
use handler::Answers;
use log::Logs;

/// Why there is no kubelet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KubeletError {
    /// It cannot listen.
    #[error("the kubelet cannot listen")]
    Listen(#[from] ListenError),
    /// It has no certificate.
    #[error("the kubelet cannot have a certificate")]
    Certificate(#[from] CertificateError),
    /// The server does not take its node.
    #[error("the node of the kubelet cannot be created")]
    Node(#[source] Status),
}

/// What a kubelet speaks of `v5.channel.k8s.io` and `v4.channel.k8s.io`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Channels {
    /// Both, as those of today.
    #[default]
    V5,
    /// The older one only.
    V4,
}

/// A kubelet, and the node that it answers for. Pods whose `spec.nodeName` is [`node`](Self::node) are its
/// own, whatever they are.
///
/// | asked for | it |
/// |---|---|
/// | the log of a container | says what was [written](Self::write_log); it knows `follow`, `tailLines` and `limitBytes` |
/// | `echo`, `complain` and words | writes them to stdout or stderr, and ends |
/// | `exit` and a number | ends with this code |
/// | `cat` | gives back its input until that ends |
/// | `size` | writes the next size of its terminal, and ends |
/// | `hang` | runs until the stream ends |
/// | any other program | says that there is none |
/// | to attach | does as `cat` |
/// | a port | gives back what is sent to it; nobody listens on those below 10 |
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use serde_json::json;
/// use watchkeeper_testkit::{Kubelet, TestCluster};
///
/// let cluster = TestCluster::start().await?;
/// let kubelet = Kubelet::start(&cluster, "node-1").await?;
/// let spec = json!({"nodeName": kubelet.node(), "containers": [{"name": "main", "image": "app"}]});
/// cluster.create(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec})).await?;
/// kubelet.write_log(cluster.namespace(), "web", "main", "ready\n");
/// // ... `kubectl logs web` says "ready", `kubectl exec web -- echo hello` says "hello"
/// kubelet.stop().await;
/// cluster.stop().await;
/// # Ok(())
/// # }
/// ```
pub struct Kubelet {
    node: String,
    logs: Arc<Logs>,
    answers: Arc<Answers>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Kubelet {
    /// Starts a kubelet and creates its node. If dropped half-way, the node may be there.
    ///
    /// # Errors
    /// See [`KubeletError`].
    pub async fn start(cluster: &TestCluster, node: &str) -> Result<Self, KubeletError> {
        Self::speaking(cluster, node, Channels::V5).await
    }

    /// Starts a kubelet that speaks these protocols; as [`start`](Self::start) otherwise.
    ///
    /// # Errors
    /// See [`KubeletError`].
    pub async fn speaking(
        cluster: &TestCluster,
        node: &str,
        channels: Channels,
    ) -> Result<Self, KubeletError> {
        let authority = Authority::generate()?;
        let identity = authority.sign_server(&[])?;
        let security = Security::Tls(serve(&identity)?);
        let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into(), security).await?;
        let object = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": node},
            "status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": listener.address().port()}},
                "declaredFeatures": ["ExtendWebSocketsToKubelet"],
            },
        });
        cluster.create(object).await.map_err(KubeletError::Node)?;
        let logs = Arc::new(Logs::default());
        let answers = Arc::new(Answers::new(logs.clone(), channels));
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        // Who asks is the API server, or a test: nobody is kept out.
        let everybody = Authenticator::default().anonymous(Anonymous::Allowed);
        let (chain, running) = (HandlerChain::new(answers.clone(), everybody), stop.clone());
        tasks.spawn(async move { listener.run(chain, running).await });
        Ok(Self { node: node.to_owned(), logs, answers, stop, tasks })
    }

    /// The name of its node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Adds to the log of a container. Those who follow it read it.
    pub fn write_log(&self, namespace: &str, pod: &str, container: &str, text: &str) {
        self.logs.write(&[namespace, pod, container].join("/"), text.as_bytes());
    }

    /// Ends the log of a container, as when it stops: those who follow it read the end.
    pub fn end_log(&self, namespace: &str, pod: &str, container: &str) {
        self.logs.end(&[namespace, pod, container].join("/"));
    }

    /// How many programs run and forwards are open.
    pub fn open_streams(&self) -> usize {
        self.answers.open()
    }

    /// Cuts off every program and forward without a word, as when a machine dies.
    pub fn cut_streams(&self) {
        self.answers.cut();
    }

    /// Stops, and returns once everything has ended (L2). The node stays.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Serves as this, over HTTP/2 or HTTP/1.1, and lets in whoever comes with whatever certificate.
fn serve(identity: &Identity) -> Result<Arc<ServerConfig>, CertificateError> {
    let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes())?];
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
