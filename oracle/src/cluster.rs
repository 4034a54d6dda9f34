//! Cluster: a real kube-apiserver with a real etcd, which stops when it is dropped.
//!
//! Input:  [`Binaries`], run by [`Process`].
//! Output: an API server that tests reach over HTTPS.
//!
//! Invariants:
//! - `cluster.C1`: once `start` has returned, `/readyz` responds with 200.
//! - `cluster.C2`: dropping a cluster ends its processes and removes its files. If the owner is killed, both happen
//!   shortly afterwards.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::ACCEPT;
use http::{Method, Request, Response, StatusCode};
use tempfile::TempDir;
use tokio::process::Command;

use crate::binaries::Binaries;
use crate::certificates::Certificates;
use crate::client::{Client, RequestError};
use crate::kubectl::Kubectl;
use crate::process::Process;
use crate::readiness::{StartError, wait_until_ready};
use crate::server::{self, Ports};

/// The number of attempts to start a cluster when another process takes one of its ports.
const ATTEMPTS: usize = 5;

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    // Fields are dropped in this order: the servers in reverse order of their start, then their directory.
    controller_manager: Option<Process>,
    apiserver: Process,
    etcd: Process,
    binaries: &'static Binaries,
    client: Client,
    ports: Ports,
    apiserver_arguments: Vec<String>,
    authority: String,
    token: String,
    kubectl: Kubectl,
    startup_time: Duration,
    directory: TempDir,
}

/// Configures and starts a [`Cluster`].
#[derive(Debug, Clone, Default)]
pub struct Builder {
    controller_manager: bool,
    apiserver_args: Vec<String>,
}

impl Builder {
    /// Sets whether to run kube-controller-manager. By default it does not run, and pods need no service account.
    #[must_use]
    pub fn controller_manager(mut self, enabled: bool) -> Self {
        self.controller_manager = enabled;
        self
    }

    /// Adds `--flag=value` to kube-apiserver's command line, replacing our own value of that flag.
    #[must_use]
    pub fn apiserver_arg(mut self, argument: impl Into<String>) -> Self {
        self.apiserver_args.push(argument.into());
        self
    }

    /// Starts the cluster and returns once it is ready. Dropping the future stops what has been started.
    pub async fn start(self) -> Result<Cluster, StartError> {
        let binaries =
            tokio::task::spawn_blocking(Binaries::get).await.expect("Binaries::get does not panic")?;
        for _ in 1..ATTEMPTS {
            match self.attempt(binaries).await {
                Err(error) if error.is_port_conflict() => {}
                outcome => return outcome,
            }
        }
        self.attempt(binaries).await
    }

    async fn attempt(&self, binaries: &'static Binaries) -> Result<Cluster, StartError> {
        let secrets = Certificates::generate().map_err(|error| StartError::Certificates(error.into()))?;
        let directory = TempDir::with_prefix("watchkeeper-oracle-").map_err(StartError::Directory)?;
        let path = directory.path();
        let ports = Ports::choose().map_err(StartError::Directory)?;
        let client = |server: String| {
            Client::new(server, Some(secrets.authority_der.clone()), &secrets.token)
                .map_err(|error| StartError::Certificates(error.into()))
        };
        let (etcd_client, client) = (client(ports.etcd_url())?, client(ports.apiserver_url())?);
        server::write_files(path, ports, &secrets).map_err(StartError::Directory)?;
        let start = |name, arguments| {
            Process::start(binaries, name, path, arguments)
                .map_err(|source| StartError::Process { name, source })
        };

        let started = Instant::now();
        let mut etcd = start("etcd", server::etcd(path, &ports.etcd_url(), &ports.etcd_peer_url()))?;
        wait_until_ready(&mut etcd, async || probe(&etcd_client, "/health").await).await?;

        let arguments = server::apiserver(path, ports, self.controller_manager, &self.apiserver_args);
        let apiserver_arguments: Vec<_> = arguments.collect();
        let mut apiserver = start("kube-apiserver", apiserver_arguments.clone())?;
        wait_until_ready(&mut apiserver, async || probe(&client, "/readyz").await).await?;

        let mut controller_manager = None;
        if self.controller_manager {
            let mut process = start("kube-controller-manager", server::controller_manager(path))?;
            // It serves no health check here; creating this service account is what tests depend on.
            let account = "/api/v1/namespaces/default/serviceaccounts/default";
            wait_until_ready(&mut process, async || probe(&client, account).await).await?;
            controller_manager = Some(process);
        }
        let startup_time = started.elapsed();
        Ok(Cluster {
            controller_manager,
            apiserver,
            etcd,
            binaries,
            client,
            ports,
            apiserver_arguments,
            authority: secrets.authority,
            token: secrets.token,
            kubectl: Kubectl::new(&path.join("kubeconfig"), path)?,
            startup_time,
            directory,
        })
    }
}

impl Cluster {
    /// Starts kube-apiserver and etcd, and returns once they are ready. That takes a few seconds, or many minutes if
    /// they have to be built first.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// Returns a builder for a cluster with non-default options.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns kube-apiserver's URL, `https://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        self.ports.apiserver_url()
    }

    /// Returns etcd's URL, `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn etcd_url(&self) -> String {
        self.ports.etcd_url()
    }

    /// Returns the CA certificate that issued the server's certificate, in PEM.
    #[must_use]
    pub fn certificate_authority(&self) -> &str {
        &self.authority
    }

    /// Returns a bearer token with all permissions.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the path of a kubeconfig with two contexts, `certificate` (the current one) and `token`, both of which
    /// have all permissions.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        self.kubectl.kubeconfig()
    }

    /// Returns the directory of the cluster's data, secrets and logs. Tests may add files to it.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the time from the start of the first server until all were ready, accurate to 50 ms.
    #[must_use]
    pub fn startup_time(&self) -> Duration {
        self.startup_time
    }

    /// Returns the process ids of the servers that are running: etcd, kube-apiserver, kube-controller-manager.
    pub fn processes(&self) -> io::Result<Vec<u32>> {
        let servers = [Some(&self.etcd), Some(&self.apiserver), self.controller_manager.as_ref()];
        let ids: io::Result<Vec<_>> = servers.into_iter().flatten().map(Process::id).collect();
        Ok(ids?.into_iter().flatten().collect())
    }

    /// Sends SIGKILL to kube-apiserver. Connections are refused until it is [started](Self::start_apiserver) again.
    pub fn kill_apiserver(&mut self) -> io::Result<()> {
        self.apiserver.kill()
    }

    /// Starts a kube-apiserver that was [killed](Self::kill_apiserver), at the same address and with the same data,
    /// and returns once it is ready. If the future is dropped, the method can be called again.
    pub async fn start_apiserver(&mut self) -> Result<(), StartError> {
        for _ in 1..ATTEMPTS {
            match self.attempt_apiserver().await {
                Err(error) if error.is_port_conflict() => {} // the killed process still holds the port
                outcome => return outcome,
            }
        }
        self.attempt_apiserver().await
    }

    async fn attempt_apiserver(&mut self) -> Result<(), StartError> {
        let name = "kube-apiserver";
        self.apiserver =
            Process::start(self.binaries, name, self.directory.path(), self.apiserver_arguments.clone())
                .map_err(|source| StartError::Process { name, source })?;
        wait_until_ready(&mut self.apiserver, async || probe(&self.client, "/readyz").await).await
    }

    /// Returns the end of each server's log, for the message of a failed test.
    #[must_use]
    pub fn logs(&self) -> String {
        let servers = [Some(&self.etcd), Some(&self.apiserver), self.controller_manager.as_ref()];
        servers
            .into_iter()
            .flatten()
            .map(|server| format!("{}:\n{}\n", server.name(), server.log_tail()))
            .collect()
    }

    /// Sends a request without a body, and reads the whole response.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        accept: &str,
    ) -> Result<Response<Bytes>, RequestError> {
        let request = Request::builder().method(method).uri(path).header(ACCEPT, accept).body(Bytes::new())?;
        self.send(request).await
    }

    /// Sends a request whose URI is a path, and reads the whole response. Adds [`token`](Self::token) unless the
    /// request has an `authorization` header.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, RequestError> {
        self.client.send(request).await
    }

    /// Returns the client that [`send`](Self::send) uses.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns a kubectl for this cluster, with all permissions.
    #[must_use]
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// Returns a command that runs one of the [`Binaries`] with `KUBECONFIG` set to this cluster's. Dropping the child
    /// kills it.
    #[must_use]
    pub fn program(&self, name: &str) -> Command {
        self.kubectl.with_program(self.binaries.path(name)).command(None::<&str>)
    }
}

/// Fails unless the server responds with 200 at `path`. The error describes the response instead.
async fn probe(server: &Client, path: &str) -> Result<(), String> {
    let response = server.send(get(path, "*/*")).await.map_err(|error| chain(&error))?;
    match response.status() {
        StatusCode::OK => Ok(()),
        status => Err(format!("responded with {status}: {}", String::from_utf8_lossy(response.body()))),
    }
}

/// Returns a GET request without a body.
pub(crate) fn get(path: &str, accept: &str) -> Request<Bytes> {
    Request::get(path).header(ACCEPT, accept).body(Bytes::new()).expect("all paths are valid")
}

/// Returns the messages of an error and its sources, joined with colons.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
