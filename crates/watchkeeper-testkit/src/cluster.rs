//! Test cluster: an API server, a kubeconfig and a namespace.
//!
//! Invariants:
//! - `cluster.K1`: once started, the server is ready, the namespace exists, and the kubeconfig points to both.
//! - `cluster.K2`: a cluster that is stopped or dropped leaves no task, no port and no file behind.

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

/// Why a cluster cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The API server failed to start.
    #[error("failed to start the API server")]
    Start(#[from] StartError),
    /// The kubeconfig cannot be written.
    #[error("failed to write the kubeconfig")]
    Kubeconfig(#[source] io::Error),
    /// The namespace cannot be created.
    #[error("failed to create the namespace")]
    Namespace(#[source] Status),
    /// The system's random source failed.
    #[error("failed to generate a namespace name")]
    Random(#[from] NoRandomness),
    /// The runtime of a blocking cluster cannot be created.
    #[error("failed to create a runtime")]
    Runtime(#[source] io::Error),
}

/// A running cluster (`cluster.K1`), on the runtime it was started on. Clusters are independent of each other.
pub struct TestCluster {
    server: ApiServer,
    namespace: String,
    kubeconfig: PathBuf,
    /// Removed on drop (`cluster.K2`).
    directory: TempDir,
}

impl TestCluster {
    /// Starts a cluster with TLS and an in-memory store. Dropping the future leaves nothing behind.
    ///
    /// # Errors
    /// See [`ClusterError`].
    pub async fn start() -> Result<Self, ClusterError> {
        Self::of(ApiServer::builder()).await
    }

    /// Starts a cluster with a configured server: another address, less history, plain HTTP. Dropping the future
    /// leaves nothing behind.
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

    /// Starts a cluster for code that is not async, with a runtime of its own.
    ///
    /// # Errors
    /// See [`ClusterError`].
    pub fn blocking() -> Result<BlockingCluster, ClusterError> {
        BlockingCluster::start()
    }

    /// Returns the unique namespace, which is the default of the kubeconfig.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Creates another unique namespace.
    ///
    /// # Errors
    /// See [`ClusterError`].
    pub async fn fresh_namespace(&self) -> Result<String, ClusterError> {
        create_namespace(&self.server).await
    }

    /// Returns the path of the kubeconfig, which is removed with the cluster.
    pub fn kubeconfig_path(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns a directory for the test's own files, which is removed with the cluster.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the API server.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// Returns the fault injection of the API server.
    pub fn faults(&self) -> &Faults {
        self.server.faults()
    }

    /// Compacts all history: see [`ApiServer::compact`].
    ///
    /// # Errors
    /// Never fails with an in-memory store.
    pub async fn compact(&self) -> Result<(), CompactError> {
        self.server.compact().await.map(drop)
    }

    /// Returns the URL of the server, such as `https://127.0.0.1:40123`.
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// Returns the administrator's token.
    pub fn token(&self) -> &str {
        self.server.token()
    }

    /// Returns the CA certificate of the server, in PEM; `None` without TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.server.ca_pem()
    }

    /// Stops the cluster and waits until it has (`cluster.K2`). Dropping the future aborts the rest.
    pub async fn stop(self) {
        self.server.stop().await;
        let directory = self.directory;
        let _ = tokio::task::spawn_blocking(move || drop(directory)).await; // dropped either way
    }
}

async fn create_namespace(server: &ApiServer) -> Result<String, ClusterError> {
    let name = format!("test-{}", &random_token()?[..10]);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    Objects::of(server).create(namespace, "").await.map_err(ClusterError::Namespace)?;
    Ok(name)
}
