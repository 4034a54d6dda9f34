//! Etcd: a real etcd alone, for as long as somebody holds it.
//!
//! - D1: an etcd that has been started says that it is healthy.
//! - D2: one that was killed and started again has the same address and the same data.
//! - D3: one that has been dropped has left no process and no file behind.

use std::io;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use tempfile::TempDir;

use crate::binaries::Binaries;
use crate::certificates::Certificates;
use crate::client::{Client, RequestError};
use crate::cluster::{chain, get};
use crate::process::Process;
use crate::readiness::{StartError, until};
use crate::server::{self, free_ports};

/// How often an etcd is started anew because a port was lost.
const ATTEMPTS: usize = 5;

/// A running etcd.
#[derive(Debug)]
pub struct EtcdServer {
    /// `None` while it is killed.
    process: Option<Process>,
    binaries: &'static Binaries,
    arguments: Vec<String>,
    url: String,
    gateway: Client,
    health: Client,
    authority: String,
    identity: (String, String),
    directory: TempDir,
}

/// What sort of etcd to start.
#[derive(Debug, Clone, Default)]
pub struct EtcdBuilder {
    tls: bool,
    arguments: Vec<String>,
}

impl EtcdBuilder {
    /// It speaks TLS, and only with who has a certificate. By default it does not.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Adds `--flag=value` to its command line.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Starts it and returns once it is healthy. If dropped before that, nothing is left behind.
    pub async fn start(self) -> Result<EtcdServer, StartError> {
        let binaries = tokio::task::spawn_blocking(Binaries::get).await.expect("building does not panic")?;
        for _ in 1..ATTEMPTS {
            match self.attempt(binaries).await {
                Err(error) if error.lost_a_port() => {}
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
                "--enable-grpc-gateway=false".to_owned(), // it would need a certificate of its own
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
    /// Starts an etcd, and returns once it is healthy.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// An etcd with choices.
    #[must_use]
    pub fn builder() -> EtcdBuilder {
        EtcdBuilder::default()
    }

    /// Where it listens: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The certificate, in PEM, of the authority that vouches for it and for who may talk to it.
    #[must_use]
    pub fn certificate_authority(&self) -> &str {
        &self.authority
    }

    /// A certificate to talk to it with, of the name `admin`, and its key, in PEM.
    #[must_use]
    pub fn client_certificate(&self) -> (&str, &str) {
        (&self.identity.0, &self.identity.1)
    }

    /// Kills it as it stands.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.take().map_or(Ok(()), |mut process| process.kill())
    }

    /// Starts it again after it was killed, and returns once it is healthy.
    pub async fn restart(&mut self) -> Result<(), StartError> {
        let start = Process::start(self.binaries, "etcd", self.directory.path(), self.arguments.clone());
        let process = start.map_err(|source| StartError::Process { name: "etcd", source })?;
        let process = self.process.insert(process);
        let health = &self.health;
        until(process, async || {
            let response = health.send(get("/health", "*/*")).await.map_err(|error| chain(&error))?;
            match response.status() {
                StatusCode::OK => Ok(()),
                status => Err(format!("says {status}: {}", String::from_utf8_lossy(response.body()))),
            }
        })
        .await
    }

    /// Asks it by its JSON gateway, without any of Watchkeeper in between: `/v3/kv/range` and the like. The token is
    /// one that `/v3/auth/authenticate` has answered with, or empty.
    pub async fn ask(&self, path: &str, token: &str, body: String) -> Result<Response<Bytes>, RequestError> {
        let request = Request::post(path).header("authorization", token).body(Bytes::from(body))?;
        self.gateway.send(request).await
    }

    /// The end of its log, for the message of a test that fails.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.as_ref().map(Process::log_tail).unwrap_or_default()
    }
}
