//! Cluster: a real kube-apiserver on a real etcd, for as long as somebody holds it.
//!
//! From: [`Binaries`], run by [`Process`].
//! To:   the tests, over the wire.
//!
//! - C1: a cluster that has been started answers `ok` at `/readyz`.
//! - C2: a cluster that has been dropped has left no process and no file behind; nor has one whose owner was
//!   killed, a moment later.

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
use crate::readiness::{StartError, until};
use crate::server::{self, Ports};

/// How often a cluster is started anew because a port was lost.
const ATTEMPTS: usize = 5;

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    // Last started, first dropped; and all of them before their directory.
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
    ready_after: Duration,
    directory: TempDir,
}

/// What sort of cluster to start.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    controller_manager: bool,
    apiserver_args: Vec<String>,
}

impl Builder {
    /// Whether kube-controller-manager runs too. By default it does not, and pods need no service account.
    #[must_use]
    pub fn controller_manager(mut self, runs: bool) -> Self {
        self.controller_manager = runs;
        self
    }

    /// Adds `--flag=value` to kube-apiserver's command line, in place of what we would give for that flag.
    #[must_use]
    pub fn apiserver_arg(mut self, argument: impl Into<String>) -> Self {
        self.apiserver_args.push(argument.into());
        self
    }

    /// Starts the cluster and returns once it is ready. If dropped before that, nothing is left behind.
    pub async fn start(self) -> Result<Cluster, StartError> {
        let binaries = tokio::task::spawn_blocking(Binaries::get).await.expect("building does not panic")?;
        for _ in 1..ATTEMPTS {
            match self.attempt(binaries).await {
                Err(error) if error.lost_a_port() => {}
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

        let begun = Instant::now();
        let mut etcd = start("etcd", server::etcd(path, &ports.etcd_url(), &ports.etcd_peer_url()))?;
        until(&mut etcd, async || answers(&etcd_client, "/health").await).await?;

        let arguments = server::apiserver(path, ports, self.controller_manager, &self.apiserver_args);
        let apiserver_arguments: Vec<_> = arguments.collect();
        let mut apiserver = start("kube-apiserver", apiserver_arguments.clone())?;
        until(&mut apiserver, async || answers(&client, "/readyz").await).await?;

        let mut controller_manager = None;
        if self.controller_manager {
            let mut process = start("kube-controller-manager", server::controller_manager(path))?;
            // It has no port to ask, but this is the work that everybody waits for.
            let account = "/api/v1/namespaces/default/serviceaccounts/default";
            until(&mut process, async || answers(&client, account).await).await?;
            controller_manager = Some(process);
        }
        let ready_after = begun.elapsed();
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
            ready_after,
            directory,
        })
    }
}

impl Cluster {
    /// Starts a cluster of kube-apiserver and etcd, and returns once it is ready, after some seconds: or after
    /// some minutes, if they have to be built first.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// A cluster with choices.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Where kube-apiserver listens: `https://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        self.ports.apiserver_url()
    }

    /// Where etcd listens: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn etcd_url(&self) -> String {
        self.ports.etcd_url()
    }

    /// The certificate, in PEM, of the authority that vouches for the server.
    #[must_use]
    pub fn certificate_authority(&self) -> &str {
        &self.authority
    }

    /// A bearer token that may do everything.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A kubeconfig with two contexts that may do everything: `certificate` (the current one) and `token`.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        self.kubectl.kubeconfig()
    }

    /// Where the cluster keeps its data, its secrets and its logs. Tests may put files of their own there.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// How long it took from the start of the first server until all were ready, to a twentieth of a second.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// The processes of the servers, for what the system knows of them.
    pub fn processes(&self) -> io::Result<Vec<u32>> {
        let servers = [Some(&self.etcd), Some(&self.apiserver), self.controller_manager.as_ref()];
        let ids: io::Result<Vec<_>> = servers.into_iter().flatten().map(Process::id).collect();
        Ok(ids?.into_iter().flatten().collect())
    }

    /// Kills kube-apiserver without a warning. Whoever asks it finds nobody, until it is
    /// [started](Self::start_apiserver) again.
    pub fn kill_apiserver(&mut self) -> io::Result<()> {
        self.apiserver.kill()
    }

    /// Starts a kube-apiserver that was [killed](Self::kill_apiserver), at the same address and with the same data,
    /// and returns once it is ready. If dropped before that, it can be called again.
    pub async fn start_apiserver(&mut self) -> Result<(), StartError> {
        for _ in 1..ATTEMPTS {
            match self.attempt_apiserver().await {
                Err(error) if error.lost_a_port() => {} // the one that was killed has not quite gone
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
        until(&mut self.apiserver, async || answers(&self.client, "/readyz").await).await
    }

    /// The end of each server's log, for the message of a test that fails.
    #[must_use]
    pub fn logs(&self) -> String {
        let servers = [Some(&self.etcd), Some(&self.apiserver), self.controller_manager.as_ref()];
        servers
            .into_iter()
            .flatten()
            .map(|server| format!("{}:\n{}\n", server.name(), server.log_tail()))
            .collect()
    }

    /// Sends a request without a body, and reads the whole answer.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        accept: &str,
    ) -> Result<Response<Bytes>, RequestError> {
        let request = Request::builder().method(method).uri(path).header(ACCEPT, accept).body(Bytes::new())?;
        self.send(request).await
    }

    /// Sends a request whose URI is a path, and reads the whole answer. It is sent with [`token`](Self::token)
    /// unless it has an `authorization` of its own.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, RequestError> {
        self.client.send(request).await
    }

    /// The client that [`send`](Self::send) uses.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// kubectl, which finds this cluster and may do everything.
    #[must_use]
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// A command for one of the [`Binaries`] that finds this cluster by its environment. It is killed when the
    /// child is dropped.
    #[must_use]
    pub fn program(&self, name: &str) -> Command {
        self.kubectl.replaced_by(self.binaries.path(name)).command(None::<&str>)
    }
}

async fn answers(server: &Client, path: &str) -> Result<(), String> {
    let response = server.send(get(path, "*/*")).await.map_err(|error| chain(&error))?;
    match response.status() {
        StatusCode::OK => Ok(()),
        status => Err(format!("says {status}: {}", String::from_utf8_lossy(response.body()))),
    }
}

pub(crate) fn get(path: &str, accept: &str) -> Request<Bytes> {
    Request::get(path).header(ACCEPT, accept).body(Bytes::new()).expect("the paths here are paths")
}

/// An error with its causes, for a message.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
