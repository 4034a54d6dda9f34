//! Test cluster: a server, a kubeconfig and a namespace.
//!
//! - K1: when a cluster has started, requests are answered, the namespace is there, and the kubeconfig
//!   leads to both.
//! - K2: a cluster that is stopped or dropped leaves nothing behind: no task, no port, no file.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;
use watchkeeper_apiserver::faults::{CompactError, Faults};
use watchkeeper_apiserver::http::{NoRandomness, random_token};
use watchkeeper_apiserver::server::{ApiServer, Builder, StartError};
use watchkeeper_core::Status;

use crate::blocking::BlockingCluster;
use crate::objects::Objects;

/// Why there is no cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The server did not start.
    #[error("the API server of the test cluster did not start")]
    Start(#[from] StartError),
    /// There is no place for files.
    #[error("the kubeconfig of the test cluster cannot be written")]
    Kubeconfig(#[source] io::Error),
    /// The server does not take the namespace.
    #[error("the namespace of the test cluster cannot be created")]
    Namespace(#[source] Status),
    /// The system has no random numbers.
    #[error("the namespace of the test cluster cannot be named")]
    Random(#[from] NoRandomness),
    /// A cluster without async has no threads to run on.
    #[error("the test cluster has no runtime")]
    Runtime(#[source] io::Error),
}

/// A cluster that is running (K1).
///
/// It runs on the runtime that it was started on. Several do not know of each other.
pub struct TestCluster {
    server: ApiServer,
    namespace: String,
    kubeconfig: PathBuf,
    /// Removed with all that is in it when this is dropped (K2).
    directory: TempDir,
}

impl TestCluster {
    /// A cluster with TLS, in memory. If dropped half-way, nothing is left.
    ///
    /// # Errors
    /// See [`ClusterError`].
    pub async fn start() -> Result<Self, ClusterError> {
        Self::of(ApiServer::builder()).await
    }

    /// A cluster whose server is built in one's own way: another address, less history, plain HTTP. If
    /// dropped half-way, nothing is left.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use watchkeeper_apiserver::server::ApiServer;
    /// use watchkeeper_testkit::TestCluster;
    ///
    /// let cluster = TestCluster::of(ApiServer::builder().plain_http()).await?;
    /// assert!(cluster.url().starts_with("http://127.0.0.1:"));
    /// cluster.stop().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`ClusterError`].
    pub async fn of(server: Builder) -> Result<Self, ClusterError> {
        let server = server.start().await?;
        let namespace = create_namespace(&server).await?;
        let mut config = server.kubeconfig();
        config.namespace = Some(namespace.clone());
        let written = tokio::task::spawn_blocking(move || {
            let directory = tempfile::Builder::new().prefix("watchkeeper-").tempdir()?;
            let path = directory.path().join("kubeconfig");
            config.write(&path)?;
            Ok((directory, path))
        });
        let written = written.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        let (directory, kubeconfig) = written.map_err(ClusterError::Kubeconfig)?;
        Ok(Self { server, namespace, kubeconfig, directory })
    }

    /// A cluster for code that is not async, on threads of its own.
    ///
    /// # Errors
    /// See [`ClusterError`].
    pub fn blocking() -> Result<BlockingCluster, ClusterError> {
        BlockingCluster::start()
    }

    /// The namespace that nobody else has; the kubeconfig is for it.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Another namespace that nobody else has.
    ///
    /// # Errors
    /// See [`ClusterError`].
    pub async fn fresh_namespace(&self) -> Result<String, ClusterError> {
        create_namespace(&self.server).await
    }

    /// The kubeconfig: a file that only its owner can read, and that goes with the cluster.
    pub fn kubeconfig_path(&self) -> &Path {
        &self.kubeconfig
    }

    /// A directory for files of one's own, which goes with the cluster.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The API server.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// What goes wrong, and what is to.
    pub fn faults(&self) -> &Faults {
        self.server.faults()
    }

    /// Forgets all history now: see [`ApiServer::compact`].
    ///
    /// # Errors
    /// None of a store in memory.
    pub async fn compact(&self) -> Result<(), CompactError> {
        self.server.compact().await.map(drop)
    }

    /// `https://127.0.0.1:40123`.
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// The token of the administrator.
    pub fn token(&self) -> &str {
        self.server.token()
    }

    /// Who vouches for the server, in PEM; `None` where it was built without TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.server.ca_pem()
    }

    /// Stops, and returns once everything has ended (K2). If dropped half-way, what is left is cut off.
    pub async fn stop(self) {
        self.server.stop().await;
        let directory = self.directory;
        let _ = tokio::task::spawn_blocking(move || drop(directory)).await; // it is gone either way
    }
}

async fn create_namespace(server: &ApiServer) -> Result<String, ClusterError> {
    let name = format!("test-{}", &random_token()?[..10]);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    Objects::of(server).create(namespace, "").await.map_err(ClusterError::Namespace)?;
    Ok(name)
}
