//! Etcd: a real etcd without an API server, which stops when it is dropped.
//!
//! Invariants:
//! - `etcd.D1`: once `start` has returned, `/health` responds with 200.
//! - `etcd.D2`: after a kill and a restart, the server has the same address and the same data.
//! - `etcd.D3`: dropping the server ends its process and removes its files.

use std::io;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use tempfile::TempDir;

use crate::binaries::Binaries;
use crate::certificates::Certificates;
use crate::client::{Client, RequestError};
use crate::cluster::{chain, get};
use crate::process::Process;
use crate::readiness::{StartError, wait_until_ready};
use crate::server::{self, free_ports};

/// The number of attempts to start an etcd when another process takes one of its ports.
const ATTEMPTS: usize = 5;

/// A running etcd.
#[derive(Debug)]
pub struct EtcdServer {
    /// `None` between a kill and a restart.
    process: Option<Process>,
    binaries: &'static Binaries,
    arguments: Vec<String>,
    url: String,
    /// A client of the JSON gateway.
    gateway: Client,
    /// A client of the metrics address, which serves `/health` without TLS.
    health: Client,
    authority: String,
    /// The client certificate and its key, in PEM.
    identity: (String, String),
    directory: TempDir,
}

/// Configures and starts an [`EtcdServer`].
#[derive(Debug, Clone, Default)]
pub struct EtcdBuilder {
    tls: bool,
    arguments: Vec<String>,
}

impl EtcdBuilder {
    /// Makes the server use TLS and require client certificates. By default it uses neither.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Adds `--flag=value` to the command line.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Starts the server and returns once it is healthy. Dropping the future stops what has been started.
    pub async fn start(self) -> Result<EtcdServer, StartError> {
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

    async fn attempt(&self, binaries: &'static Binaries) -> Result<EtcdServer, StartError> {
        let secrets = Certificates::generate().map_err(|error| StartError::Certificates(error.into()))?;
        let directory = TempDir::with_prefix("watchkeeper-etcd-").map_err(StartError::Directory)?;
        let path = directory.path();
        let [port, peer, metrics] = free_ports().map_err(StartError::Directory)?;
        let scheme = if self.tls { "https" } else { "http" };
        let url = format!("{scheme}://127.0.0.1:{port}");
        let metrics = format!("http://127.0.0.1:{metrics}");
        let mut arguments = server::etcd(path, &url, &format!("http://127.0.0.1:{peer}"));
        arguments.push(format!("--listen-metrics-urls={metrics}"));
        if self.tls {
            let files = [
                ("ca.pem", &secrets.authority),
                ("server.pem", &secrets.server.certificate),
                ("server.key", &secrets.server.key),
            ];
            for (name, content) in files {
                server::write_file(path, name, content).map_err(StartError::Directory)?;
            }
            let file = |name: &str| path.join(name).display().to_string();
            arguments.extend([
                format!("--cert-file={}", file("server.pem")),
                format!("--key-file={}", file("server.key")),
                format!("--trusted-ca-file={}", file("ca.pem")),
                "--client-cert-auth".to_owned(),
                "--enable-grpc-gateway=false".to_owned(), // it would need a client certificate
            ]);
        }
        arguments.extend_from_slice(&self.arguments);
        let client = |server: &str| {
            Client::new(server, None, "none").map_err(|error| StartError::Certificates(error.into()))
        };
        let mut etcd = EtcdServer {
            process: None,
            binaries,
            arguments,
            gateway: client(&url)?,
            health: client(&metrics)?,
            url,
            authority: secrets.authority,
            identity: (secrets.administrator.certificate, secrets.administrator.key),
            directory,
        };
        etcd.restart().await?;
        Ok(etcd)
    }
}

impl EtcdServer {
    /// Starts an etcd and returns once it is healthy.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// Returns a builder for an etcd with non-default options.
    #[must_use]
    pub fn builder() -> EtcdBuilder {
        EtcdBuilder::default()
    }

    /// Returns the client URL, `http://127.0.0.1:PORT`, or `https` with TLS.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the CA certificate that issued the server's and the client's certificates, in PEM.
    #[must_use]
    pub fn certificate_authority(&self) -> &str {
        &self.authority
    }

    /// Returns a client certificate with the common name `admin`, and its key, both in PEM.
    #[must_use]
    pub fn client_certificate(&self) -> (&str, &str) {
        (&self.identity.0, &self.identity.1)
    }

    /// Sends SIGKILL to the server.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.take().map_or(Ok(()), |mut process| process.kill())
    }

    /// Starts the server again after a kill, and returns once it is healthy.
    pub async fn restart(&mut self) -> Result<(), StartError> {
        let start = Process::start(self.binaries, "etcd", self.directory.path(), self.arguments.clone());
        let process = start.map_err(|source| StartError::Process { name: "etcd", source })?;
        let process = self.process.insert(process);
        let health = &self.health;
        wait_until_ready(process, async || {
            let response = health.send(get("/health", "*/*")).await.map_err(|error| chain(&error))?;
            match response.status() {
                StatusCode::OK => Ok(()),
                status => {
                    Err(format!("responded with {status}: {}", String::from_utf8_lossy(response.body())))
                }
            }
        })
        .await
    }

    /// Sends a POST request to the JSON gateway, such as `/v3/kv/range`, without using any Watchkeeper code. The token
    /// is one from `/v3/auth/authenticate`, or empty.
    pub async fn post(&self, path: &str, token: &str, body: String) -> Result<Response<Bytes>, RequestError> {
        let request = Request::post(path).header("authorization", token).body(Bytes::from(body))?;
        self.gateway.send(request).await
    }

    /// Returns the end of the server's log, for the message of a failed test. Empty while the server is killed.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.as_ref().map(Process::log_tail).unwrap_or_default()
    }
}
