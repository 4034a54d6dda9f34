//! Options of the web server.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use watchkeeper_client::Secret;
use watchkeeper_client::transport::BuildError;
use watchkeeper_listen::{ConnectionLimits, ListenError};

use crate::proxy::ProxyPolicy;

/// Default limits: 25,000 connections; 10 s and 64 KiB for the head of a request; 30 s for a client that does not read;
/// 10 s to finish on shutdown.
pub const DEFAULT_LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 25_000,
    head: Duration::from_secs(10),
    head_bytes: 64 << 10,
    stall: Duration::from_secs(30),
    ..ConnectionLimits::DEFAULT
};

/// Options of the web server. By default it listens on a free port of 127.0.0.1 without TLS, and the proxy passes only
/// reads, without Secrets.
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    pub(super) address: SocketAddr,
    pub(super) hosts: Vec<String>,
    pub(super) tls: Option<Tls>,
    pub(super) tokens: bool,
    pub(super) policy: ProxyPolicy,
    pub(super) limits: ConnectionLimits,
}

/// A serving certificate and its key.
#[derive(Debug, Clone)]
pub enum Tls {
    /// PEM text.
    Pem {
        /// Certificate chain, leaf first.
        certificate: String,
        /// Private key.
        key: Secret,
    },
    /// Files, read when the server is bound and again for every connection, so that they can be replaced. An invalid
    /// pair is logged, and the previous one stays in use.
    Files {
        /// Certificate chain, leaf first.
        certificate: PathBuf,
        /// Private key.
        key: PathBuf,
    },
}

impl Default for Options {
    fn default() -> Self {
        Self::new((Ipv4Addr::LOCALHOST, 0).into())
    }
}

impl Options {
    /// Creates options for an address (`--listen`); port 0 picks a free port.
    pub fn new(address: SocketAddr) -> Self {
        let policy = ProxyPolicy::default();
        Self { address, hosts: Vec::new(), tls: None, tokens: false, policy, limits: DEFAULT_LIMITS }
    }

    /// Accepts another host name (`--allow-host`), besides those of this machine.
    pub fn allow_host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Enables TLS (`--tls-cert`, `--tls-key`).
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets whether requests on loopback need a token too; other addresses always require one. Default: false.
    pub fn require_tokens(mut self, required: bool) -> Self {
        self.tokens = required;
        self
    }

    /// Sets whether the proxy passes writes (`--proxy-writes`). Default: false.
    pub fn proxy_writes(mut self, open: bool) -> Self {
        self.policy.writes = open;
        self
    }

    /// Sets whether the proxy passes upgrades: exec, attach, port-forward, WebSocket (`--proxy-upgrades`). Default:
    /// false.
    pub fn proxy_upgrades(mut self, open: bool) -> Self {
        self.policy.upgrades = open;
        self
    }

    /// Sets whether the proxy passes Secrets and service account tokens (`--proxy-secrets`). Default: false.
    pub fn proxy_secrets(mut self, open: bool) -> Self {
        self.policy.secrets = open;
        self
    }

    /// Sets the connection limits. Default: [`DEFAULT_LIMITS`].
    pub fn limits(mut self, limits: ConnectionLimits) -> Self {
        self.limits = limits;
        self
    }
}

/// An error of [`Server::bind`](super::Server::bind).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be bound.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A client for proxied requests cannot be built.
    #[error(transparent)]
    Client(#[from] BuildError),
    /// Listening beyond loopback without TLS would expose tokens and the cluster.
    #[error(
        "{address} is not a loopback address; listening there requires --tls-cert and --tls-key, and a token with every request"
    )]
    Plain {
        /// The address.
        address: SocketAddr,
    },
    /// A value of `--allow-host` is invalid.
    #[error("invalid host {text:?}; --allow-host takes a name or an IP address")]
    Host {
        /// The value.
        text: String,
    },
    /// A certificate or key file cannot be read.
    #[error("failed to read {}", file.display())]
    TlsFile {
        /// Path of the file.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The certificate or key is invalid.
    #[error("invalid certificate or key (--tls-cert, --tls-key): {what}")]
    Tls {
        /// The reason.
        what: String,
    },
}
