//! Listener: accepts connections and serves them until the last byte is written.
//!
//! Input: a socket.
//! Output: a [`Service`], one call per request.
//!
//! Invariants:
//! - `listener.C1`: [`Listener::run`] owns the task of every connection and every stream; none is left when it
//!   returns.
//! - `listener.C2`: there are at most [`ConnectionLimits::connections`]; further clients wait in the backlog of the
//!   socket.
//! - `listener.C3`: a silent client is disconnected: after [`ConnectionLimits::handshake`] during TLS, after
//!   [`ConnectionLimits::head`] before a request.
//! - `listener.C4`: a client that does not read a response is disconnected after [`ConnectionLimits::stall`]; over
//!   HTTP/2 only that stream is reset. The reason is logged.
//! - `listener.C5`: responses hold at most [`ConnectionLimits::unread_bytes`] that clients have not read, and those
//!   of one connection at most [`ConnectionLimits::connection_unread_bytes`]. More is encoded only as clients read.
//!
//! On stop, a listener accepts no more connections, ends watches and other streams, waits up to
//! [`ConnectionLimits::drain`] for requests in flight, and then closes what is left.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::Budget;
use crate::connection::Connection;
use crate::service::{AnyService, Service};

/// Limits and timeouts of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of connections (`listener.C2`).
    pub connections: usize,
    /// Timeout of a TLS handshake (`listener.C3`).
    pub handshake: Duration,
    /// Timeout of the head of a request, from when the connection begins to wait for one: so also the idle timeout of
    /// HTTP/1.1, and the time until the first request over HTTP/2 (`listener.C3`).
    pub head: Duration,
    /// Maximum size of the head of a request, in bytes.
    pub head_bytes: usize,
    /// Maximum number of concurrent streams of an HTTP/2 connection.
    pub streams: u32,
    /// Interval of HTTP/2 pings.
    pub ping_every: Duration,
    /// Timeout of a ping.
    pub ping_timeout: Duration,
    /// Maximum time for which a client may read nothing of a response that is ready for it (`listener.C4`).
    pub stall: Duration,
    /// The same while the unread bytes are used up (`listener.C5`) and other responses wait for them.
    pub stall_when_scarce: Duration,
    /// Maximum number of encoded bytes that clients have not read, over all connections (`listener.C5`).
    pub unread_bytes: usize,
    /// The same for one connection (`listener.C5`).
    pub connection_unread_bytes: usize,
    /// Maximum time to wait for requests in flight when stopping.
    pub drain: Duration,
}

impl ConnectionLimits {
    /// 10,000 connections; 10 s per handshake; 90 s and 256 KiB per head; 100 streams; a ping every 30 s with a
    /// timeout of 15 s; 60 s without reading (5 s while unread bytes are used up); 256 MiB unread, of which 16 MiB on
    /// one connection; 10 s to drain.
    pub const DEFAULT: Self = Self {
        connections: 10_000,
        handshake: Duration::from_secs(10),
        head: Duration::from_secs(90),
        head_bytes: 256 << 10,
        streams: 100,
        ping_every: Duration::from_secs(30),
        ping_timeout: Duration::from_secs(15),
        stall: Duration::from_secs(60),
        stall_when_scarce: Duration::from_secs(5),
        unread_bytes: 256 << 20,
        connection_unread_bytes: 16 << 20,
        drain: Duration::from_secs(10),
    };
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Pause after a failed accept, as when the process has no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Encryption of connections.
#[derive(Debug, Clone)]
pub enum Security {
    /// TLS with a fixed configuration.
    Tls(Arc<ServerConfig>),
    /// TLS with the configuration that is current when a connection begins.
    Renewed(Arc<dyn Certificates>),
    /// Plain text; allowed on loopback only.
    Plain,
}

/// Why a listener cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address is in use, or not one of this machine.
    #[error("failed to listen on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// Without TLS, others on the network could read the traffic.
    #[error("{address} is not a loopback address; plain HTTP is allowed on loopback only")]
    PlainBeyondLoopback {
        /// The address.
        address: SocketAddr,
    },
}

/// Provides the TLS configuration of each new connection.
pub trait Certificates: fmt::Debug + Send + Sync {
    /// Returns the current configuration; `None` closes the connection. Counts towards the handshake timeout.
    fn current(&self) -> CurrentConfig<'_>;
}

/// The future of [`Certificates::current`].
pub type CurrentConfig<'a> = Pin<Box<dyn Future<Output = Option<Arc<ServerConfig>>> + Send + 'a>>;

impl Security {
    /// Returns the configuration for a new connection; `None` if it is plain or has to be closed.
    pub(crate) async fn current(&self) -> Option<Arc<ServerConfig>> {
        match self {
            Self::Tls(config) => Some(config.clone()),
            Self::Renewed(certificates) => certificates.current().await,
            Self::Plain => None,
        }
    }

    /// Checks that this is allowed on an address.
    ///
    /// # Errors
    /// [`ListenError::PlainBeyondLoopback`].
    pub fn check(&self, address: SocketAddr) -> Result<(), ListenError> {
        match self {
            Self::Plain if !address.ip().is_loopback() => Err(ListenError::PlainBeyondLoopback { address }),
            Self::Plain | Self::Tls(_) | Self::Renewed(_) => Ok(()),
        }
    }
}

/// A bound address, for callers that need it before they can set up TLS.
#[derive(Debug)]
pub struct Socket {
    socket: TcpListener,
    address: SocketAddr,
}

impl Socket {
    /// Binds an address; port 0 picks a free one. Clients can connect from now on, and wait.
    ///
    /// # Errors
    /// [`ListenError::Bind`].
    pub async fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let bound = async {
            let socket = TcpListener::bind(address).await?;
            let address = socket.local_addr()?;
            Ok(Self { socket, address })
        };
        bound.await.map_err(|source| ListenError::Bind { address, source })
    }

    /// Creates the listener.
    ///
    /// # Errors
    /// [`ListenError::PlainBeyondLoopback`].
    pub fn listen(self, security: Security) -> Result<Listener, ListenError> {
        security.check(self.address)?;
        let Self { socket, address } = self;
        Ok(Listener { socket, address, security, limits: ConnectionLimits::DEFAULT })
    }
}

/// A bound socket; [`run`](Self::run) accepts connections.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    security: Security,
    limits: ConnectionLimits,
}

impl Listener {
    /// Binds an address; port 0 picks a free one. Clients can connect from now on, and wait.
    ///
    /// # Errors
    /// [`ListenError`].
    pub async fn bind(address: SocketAddr, security: Security) -> Result<Self, ListenError> {
        security.check(address)?;
        Socket::bind(address).await?.listen(security)
    }

    /// Sets limits and timeouts; [`ConnectionLimits::DEFAULT`] by default.
    #[must_use]
    pub fn limits(mut self, limits: ConnectionLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address for clients on this machine: loopback if the listener is bound to all addresses.
    pub fn local_address(&self) -> SocketAddr {
        let ip = match self.address.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        SocketAddr::new(ip, self.address.port())
    }

    /// Returns the URL for clients on this machine, such as `https://127.0.0.1:6443`.
    pub fn url(&self) -> String {
        match self.security {
            Security::Tls(_) | Security::Renewed(_) => format!("https://{}", self.local_address()),
            Security::Plain => format!("http://{}", self.local_address()),
        }
    }

    /// Serves connections until `stop` is cancelled, and returns once all of them have ended. Dropping the future
    /// closes all connections.
    pub async fn run<S: Service>(self, service: S, stop: CancellationToken) {
        self.serve(Arc::new(service), stop).await;
    }

    /// Boxed, so that it is compiled in this crate.
    fn serve(self, service: Arc<dyn AnyService>, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(self.accept_all(service, stop))
    }

    async fn accept_all(self, service: Arc<dyn AnyService>, stop: CancellationToken) {
        let permits = Arc::new(Semaphore::new(self.limits.connections.clamp(1, Semaphore::MAX_PERMITS)));
        let mut connections = JoinSet::new();
        let (cut, tracker) = (CancellationToken::new(), TaskTracker::new());
        let _cut_on_drop = cut.clone().drop_guard();
        let budget = Budget::limited(self.limits.connection_unread_bytes, self.limits.unread_bytes);
        let accepting = async {
            let mut is_failing = false;
            loop {
                while connections.try_join_next().is_some() {} // a panic ends only its own connection
                let Ok(permit) = permits.clone().acquire_owned().await else { return }; // never closed
                let (stream, remote) = match self.socket.accept().await {
                    Ok(accepted) => {
                        is_failing = false;
                        accepted
                    }
                    Err(error) => {
                        // Once, not for each attempt: without free file descriptors all of them fail.
                        if !std::mem::replace(&mut is_failing, true) {
                            tracing::warn!("failed to accept a connection; retrying: {error}");
                        }
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                        continue;
                    }
                };
                let connection = Connection {
                    service: service.clone(),
                    limits: self.limits,
                    stop: stop.clone(),
                    remote,
                    tracker: tracker.clone(),
                    cut: cut.clone(),
                    budget: budget.another(),
                };
                let security = self.security.clone();
                connections.spawn(async move {
                    connection.accept(stream, security).await;
                    drop(permit);
                });
            }
        };
        stop.run_until_cancelled(accepting).await;
        drop(self.socket);
        let drained = async { while connections.join_next().await.is_some() {} };
        if timeout(self.limits.drain, drained).await.is_err() {
            connections.shutdown().await;
        }
        cut.cancel(); // streams may outlive their connection briefly
        tracker.close();
        tracker.wait().await; // listener.C1
    }
}
