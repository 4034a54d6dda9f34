//! Kubelet: a fake kubelet, which serves logs, exec, attach and port forwarding without running anything.
//!
//! Input: the API server of a cluster, over TLS.
//! Output: the test, which writes logs and inspects open streams.
//!
//! Invariants:
//! - `kubelet.L1`: responses are deterministic: see [`Kubelet`].
//! - `kubelet.L2`: a kubelet that is stopped or dropped leaves nothing behind.

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
use handler::KubeletHandler;
use log::Logs;

/// Why a kubelet cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KubeletError {
    /// No port can be bound.
    #[error("failed to listen")]
    Listen(#[from] ListenError),
    /// The certificate cannot be created.
    #[error("failed to create the kubelet's certificate")]
    Certificate(#[from] CertificateError),
    /// The node cannot be created.
    #[error("failed to create the node")]
    Node(#[source] Status),
}

/// The WebSocket subprotocols that a kubelet supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Channels {
    /// `v5.channel.k8s.io` and `v4.channel.k8s.io`, as current kubelets do.
    #[default]
    V5,
    /// `v4.channel.k8s.io` only.
    V4,
}

/// A fake kubelet and its node. It serves every pod whose `spec.nodeName` is [`node`](Self::node).
///
/// | request | response |
/// |---|---|
/// | the log of a container | the text [written](Self::write_log) by the test; supports `follow`, `tailLines` and `limitBytes` |
/// | `echo`, `complain` and arguments | writes the arguments to stdout or stderr, and exits |
/// | `exit` and a number | exits with this code |
/// | `cat` | copies stdin to stdout |
/// | `size` | writes the next terminal size, and exits |
/// | `hang` | runs until the stream ends |
/// | any other program | fails |
/// | attach | like `cat` |
/// | a port | echoes; connections to ports below 10 fail |
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
/// // ... `kubectl logs web` prints "ready", `kubectl exec web -- echo hello` prints "hello"
/// kubelet.stop().await;
/// cluster.stop().await;
/// # Ok(())
/// # }
/// ```
pub struct Kubelet {
    node: String,
    logs: Arc<Logs>,
    handler: Arc<KubeletHandler>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Kubelet {
    /// Starts a kubelet and creates its node. If the future is dropped, the node may exist.
    ///
    /// # Errors
    /// See [`KubeletError`].
    pub async fn start(cluster: &TestCluster, node: &str) -> Result<Self, KubeletError> {
        Self::speaking(cluster, node, Channels::V5).await
    }

    /// Starts a kubelet that supports these subprotocols; otherwise like [`start`](Self::start).
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
        let handler = Arc::new(KubeletHandler::new(logs.clone(), channels));
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        // Only the API server and tests connect, so anonymous requests are allowed.
        let everyone = Authenticator::default().anonymous(Anonymous::Allowed);
        let (chain, running) = (HandlerChain::new(handler.clone(), everyone), stop.clone());
        tasks.spawn(async move { listener.run(chain, running).await });
        Ok(Self { node: node.to_owned(), logs, handler, stop, tasks })
    }

    /// Returns the name of the node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Appends to the log of a container. Followers receive it.
    pub fn write_log(&self, namespace: &str, pod: &str, container: &str, text: &str) {
        self.logs.write(&[namespace, pod, container].join("/"), text.as_bytes());
    }

    /// Ends the log of a container, as when it stops: followers receive the end.
    pub fn end_log(&self, namespace: &str, pod: &str, container: &str) {
        self.logs.end(&[namespace, pod, container].join("/"));
    }

    /// Returns the number of running programs and open port forwards.
    pub fn open_streams(&self) -> usize {
        self.handler.open()
    }

    /// Drops every program and port forward without closing them, as if the machine had died.
    pub fn cut_streams(&self) {
        self.handler.cut();
    }

    /// Stops the kubelet and waits until it has (`kubelet.L2`). The node stays.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Returns a TLS configuration for HTTP/2 and HTTP/1.1, without client certificates.
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
