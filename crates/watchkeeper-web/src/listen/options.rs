//! Options: where the service listens, and what is open there.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use watchkeeper_client::Secret;
use watchkeeper_client::transport::BuildError;
use watchkeeper_listen::{ConnectionLimits, ListenError};

use crate::proxy::Opening;

/// What the service takes on by default: 25,000 connections, 10 s and 64 KiB for the head of a request, 30 s to take
/// what was asked for, and 10 s to finish when it stops.
pub const LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 25_000,
    head: Duration::from_secs(10),
    head_bytes: 64 << 10,
    stall: Duration::from_secs(30),
    ..ConnectionLimits::DEFAULT
};

/// How the service is served. By default: on any free port of 127.0.0.1, plain, with a proxy that only reads, and
/// no Secrets.
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    pub(super) address: SocketAddr,
    pub(super) hosts: Vec<String>,
    pub(super) tls: Option<Tls>,
    pub(super) tokens: bool,
    pub(super) opening: Opening,
    pub(super) limits: ConnectionLimits,
}

/// A certificate and its key.
#[derive(Debug, Clone)]
pub enum Tls {
    /// In PEM.
    Pem {
        /// The certificate, and those between it and its authority.
        certificate: String,
        /// Its key.
        key: Secret,
    },
    /// In files, which are read when the server is bound, and again for every connection: they can be renewed in place. A
    /// pair that cannot be used is logged, and the one before it goes on to be served.
    Files {
        /// The certificate, and those between it and its authority.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
    },
}

impl Default for Options {
    fn default() -> Self {
        Self::new((Ipv4Addr::LOCALHOST, 0).into())
    }
}

impl Options {
    /// On this address (`--listen`); port 0 is any that is free.
    pub fn new(address: SocketAddr) -> Self {
        let opening = Opening::default();
        Self { address, hosts: Vec::new(), tls: None, tokens: false, opening, limits: LIMITS }
    }

    /// Another name of the server (`--allow-host`), besides those of this machine.
    pub fn allow_host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// With TLS (`--tls-cert`, `--tls-key`).
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Whether every request needs a token on loopback too. Elsewhere it always does.
    pub fn require_tokens(mut self, required: bool) -> Self {
        self.tokens = required;
        self
    }

    /// Whether the proxy lets through what writes (`--proxy-writes`).
    pub fn proxy_writes(mut self, open: bool) -> Self {
        self.opening.writes = open;
        self
    }

    /// Whether the proxy lets through what changes the protocol: exec, attach, port-forward, WebSocket
    /// (`--proxy-upgrades`).
    pub fn proxy_upgrades(mut self, open: bool) -> Self {
        self.opening.upgrades = open;
        self
    }

    /// Whether the proxy passes Secrets and tokens of service accounts (`--proxy-secrets`).
    pub fn proxy_secrets(mut self, open: bool) -> Self {
        self.opening.secrets = open;
        self
    }

    /// What is taken on, and how long is waited; by default [`LIMITS`].
    pub fn limits(mut self, limits: ConnectionLimits) -> Self {
        self.limits = limits;
        self
    }
}

/// Why the service cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be had.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Whoever brings a token could not be sent on.
    #[error(transparent)]
    Client(#[from] BuildError),
    /// Everybody on the way could read along, and everybody beyond loopback could ask.
    #[error(
        "{address} is not on loopback: to listen there, say --tls-cert and --tls-key; every request needs a token then"
    )]
    Plain {
        /// The address.
        address: SocketAddr,
    },
    /// What is allowed as a host is none.
    #[error("{text:?} is no host: say --allow-host with a name or an address")]
    Host {
        /// What was said.
        text: String,
    },
    /// A file of TLS cannot be read.
    #[error("{} cannot be read", file.display())]
    TlsFile {
        /// Which.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Certificate or key cannot be used.
    #[error("the certificate of --tls-cert and the key of --tls-key cannot be used: {what}")]
    Tls {
        /// Why.
        what: String,
    },
}
