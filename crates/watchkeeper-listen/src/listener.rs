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
//!   of one connection at most [`ConnectionLimits::connection_unread_bytes`]. More is encoded only when that is read.
//!
//! On stop, a listener accepts no more connections, ends watches and other streams, waits up to
//! [`ConnectionLimits::drain`] for requests in flight, and then closes what is left.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderValue, StatusCode};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::Budget;
use crate::framing::{Ambiguous, Framed};
use crate::gather::Gathered;
use crate::metered::Metered;
use crate::progress::{CURRENT, StallTimeouts, unless_stalled};
use crate::service::{Service, ServiceRequest};
use crate::stall::Stalling;
use crate::switch::Switch;

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
    /// How long a client may read nothing of a response that is ready for it (`listener.C4`).
    pub stall: Duration,
    /// The same while the unread bytes are used up (`listener.C5`) and other responses wait for them.
    pub stall_when_scarce: Duration,
    /// Maximum number of encoded bytes that clients have not read, over all connections (`listener.C5`).
    pub unread_bytes: usize,
    /// The same for one connection (`listener.C5`).
    pub connection_unread_bytes: usize,
    /// How long stopping waits for requests in flight.
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

/// The smallest read buffer that hyper accepts.
const LEAST_HEAD_BYTES: usize = 8 << 10;

/// The connection preface of HTTP/2 with prior knowledge.
const PREFACE: [u8; 24] = *b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// HTTP/2 receive windows of a stream and of a connection, in bytes: a body of 3 MiB arrives without a pause.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// Maximum size of an HTTP/2 frame, in bytes.
const FRAME_BYTES: u32 = 1 << 20;

/// Bytes that hyper buffers per HTTP/2 stream ahead of the client.
const SEND_BUFFER_BYTES: usize = 256 << 10;

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
    async fn current(&self) -> Option<Arc<ServerConfig>> {
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
        let service = Arc::new(service);
        let permits = Arc::new(Semaphore::new(self.limits.connections.clamp(1, Semaphore::MAX_PERMITS)));
        let mut connections = JoinSet::new();
        let (cut, tracker) = (CancellationToken::new(), TaskTracker::new());
        let _cut_on_drop = cut.clone().drop_guard();
        let budget = Budget::limited(self.limits.connection_unread_bytes, self.limits.unread_bytes);
        let accepting = async {
            loop {
                while connections.try_join_next().is_some() {} // a panic ends only its own connection
                let Ok(permit) = permits.clone().acquire_owned().await else { return }; // never closed
                let Ok((stream, remote)) = self.socket.accept().await else {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
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

/// Runs HTTP/2 streams, each until it ends, is cut off or its client stalls (`listener.C4`).
#[derive(Clone)]
struct Streams {
    tracker: TaskTracker,
    cut: CancellationToken,
    timeouts: StallTimeouts,
    budget: Budget,
    client: SocketAddr,
}

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, future: F) {
        let Self { cut, timeouts, budget, client, .. } = self.clone();
        let future = Box::pin(future); // large: every future around it would reserve its size again
        self.tracker.spawn(async move {
            cut.run_until_cancelled(unless_stalled(future, Arc::default(), timeouts, budget, client)).await;
        });
    }
}

/// A connection, with what it needs of its listener.
struct Connection<S> {
    service: Arc<S>,
    limits: ConnectionLimits,
    stop: CancellationToken,
    remote: SocketAddr,
    tracker: TaskTracker,
    /// Cuts off the streams of all connections.
    cut: CancellationToken,
    budget: Budget,
}

impl<S: Service> Connection<S> {
    async fn accept(self, stream: TcpStream, security: Security) {
        let _ = stream.set_nodelay(true); // only an optimization
        if matches!(security, Security::Plain) {
            let Some(Ok(protocol)) =
                self.stop.run_until_cancelled(timeout(self.limits.head, detect_protocol(&stream))).await
            else {
                return;
            };
            return Box::pin(self.serve(stream, None, protocol)).await;
        }
        let handshake = timeout(self.limits.handshake, async {
            let acceptor = TlsAcceptor::from(security.current().await?);
            acceptor.accept(stream).await.ok()
        });
        let Some(Ok(Some(stream))) = self.stop.run_until_cancelled(handshake).await else { return };
        let (_, session) = stream.get_ref();
        let certificate = session.peer_certificates().and_then(|chain| chain.first());
        let peer = certificate.and_then(|certificate| self.service.peer(certificate)).map(Arc::new);
        let protocol = match session.alpn_protocol() {
            Some(b"h2") => Protocol::Http2,
            _ => Protocol::Http1,
        };
        Box::pin(self.serve(stream, peer, protocol)).await;
    }

    async fn serve<I>(self, stream: I, peer: Option<Arc<S::Peer>>, protocol: Protocol)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { service, limits, stop, remote, tracker, cut: cut_all, budget } = self;
        let timeouts = StallTimeouts { stall: limits.stall, scarce: limits.stall_when_scarce };
        let over_http2 = matches!(protocol, Protocol::Http2);
        let begun = Arc::new(AtomicBool::new(false));
        let hang_up = CancellationToken::new();
        let cut = CancellationToken::new();
        let switch = Switch::default();
        let ambiguous = Ambiguous::default();
        let handler = {
            let (begun, hang_up, stop, cut) = (begun.clone(), hang_up.clone(), stop.clone(), cut.clone());
            let (switch, ambiguous, budget) = (switch.clone(), ambiguous.clone(), budget.clone());
            service_fn(move |request: http::Request<Incoming>| {
                begun.store(true, Ordering::Relaxed);
                let (stop, connection) = (stop.clone(), cut.clone());
                let (peer, switch, budget) = (peer.clone(), switch.clone(), budget.clone());
                let (method, uri) = (request.method().clone(), request.uri().clone());
                // Only HTTP/1.1 has this header.
                let is_chunked = request.headers().contains_key(TRANSFER_ENCODING);
                let is_ambiguous = is_chunked && ambiguous.get();
                let request = ServiceRequest {
                    request,
                    peer,
                    remote,
                    stop,
                    connection,
                    switch,
                    budget: budget.clone(),
                };
                let (service, hang_up) = (service.clone(), hang_up.clone());
                async move {
                    if is_ambiguous {
                        return Ok(close_after(reject_ambiguous()));
                    }
                    let response = service.call(request).await;
                    let progress = CURRENT.try_with(Arc::clone).unwrap_or_default();
                    progress.begin(&method, &uri);
                    // Set for unauthenticated clients: they should not keep a connection for many requests.
                    if response.hang_up {
                        hang_up.cancel();
                    }
                    let charge = response.charge;
                    let response = response
                        .response
                        .map(|body| Either::Left(Metered::new(body, budget, charge, progress, over_http2)));
                    Ok::<_, Infallible>(if is_chunked { close_after(response) } else { response })
                }
            })
        };
        match protocol {
            Protocol::Http1 => {
                let stream = Framed::new(stream, limits.head_bytes.max(LEAST_HEAD_BYTES), ambiguous);
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(limits.head)
                    .max_buf_size(limits.head_bytes.max(LEAST_HEAD_BYTES))
                    .serve_connection(TokioIo::new(Stalling::new(stream, limits.stall)), handler)
                    .with_upgrades();
                // An HTTP/1.1 connection is closed by a `Connection: close` header instead of `hang_up`.
                let connection = Box::pin(drive(connection, &stop, None));
                let connection = unless_stalled(connection, Arc::default(), timeouts, budget, remote);
                let ended = cut.run_until_cancelled(connection).await.flatten();
                if let (Some(()), Some(then)) = (ended, switch.take()) {
                    let then = cut.run_until_cancelled(then);
                    stop.run_until_cancelled(then).await;
                }
            }
            Protocol::Http2 => {
                let streams = Streams { tracker, cut: cut_all, timeouts, budget, client: remote };
                let connection = http2::Builder::new(streams)
                    .timer(TokioTimer::new())
                    .max_concurrent_streams(limits.streams)
                    .initial_stream_window_size(STREAM_WINDOW)
                    .initial_connection_window_size(CONNECTION_WINDOW)
                    .max_frame_size(FRAME_BYTES)
                    .max_send_buf_size(SEND_BUFFER_BYTES)
                    .max_header_list_size(u32::try_from(limits.head_bytes).unwrap_or(u32::MAX))
                    .keep_alive_interval(limits.ping_every)
                    .keep_alive_timeout(limits.ping_timeout)
                    .serve_connection(TokioIo::new(Gathered::new(stream)), handler);
                let silent = async {
                    tokio::time::sleep(limits.head).await;
                    if begun.load(Ordering::Relaxed) {
                        std::future::pending::<()>().await;
                    }
                };
                let connection = Box::pin(drive(connection, &stop, Some(&hang_up)));
                tokio::select! {
                    () = connection => {}
                    () = silent => {} // listener.C3
                    () = cut.cancelled() => {}
                }
            }
        }
    }
}

/// Rejects a request with both `Transfer-Encoding` and `Content-Length`: see [`framing`](crate::framing).
fn reject_ambiguous<B>() -> http::Response<Either<B, Full<Bytes>>> {
    let text = "400 Bad Request: both Transfer-Encoding and Content-Length\n";
    let mut response = http::Response::new(Either::Right(Full::from(text)));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// Makes hyper close the connection after this response.
fn close_after<B>(mut response: http::Response<B>) -> http::Response<B> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

#[derive(Clone, Copy)]
enum Protocol {
    Http1,
    Http2,
}

/// Detects HTTP/2 with prior knowledge by its preface, which no HTTP/1.1 request begins with.
async fn detect_protocol(stream: &TcpStream) -> Protocol {
    let mut first = [0; PREFACE.len()];
    match stream.peek(&mut first).await {
        Ok(count) if count == first.len() && first == PREFACE => Protocol::Http2,
        _ => Protocol::Http1, // an error recurs on the next read
    }
}

/// A connection that can be shut down gracefully: it takes no more requests.
trait Graceful: Future {
    fn shut_down(self: Pin<&mut Self>);
}

impl<S, B> Graceful for http1::UpgradeableConnection<TokioIo<S>, B>
where
    Self: Future,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: hyper::service::HttpService<Incoming>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B::ResBody: http_body::Body + 'static,
    <B::ResBody as http_body::Body>::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn shut_down(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<S, B> Graceful for http2::Connection<TokioIo<S>, B, Streams>
where
    Self: Future,
    S: AsyncRead + AsyncWrite + Unpin,
    B: hyper::service::HttpService<Incoming>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B::ResBody: http_body::Body + 'static,
    <B::ResBody as http_body::Body>::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    Streams: hyper::rt::bounds::Http2ServerConnExec<B::Future, B::ResBody>,
{
    fn shut_down(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Runs a connection to its end; on `stop` or `hang_up` it takes no more requests.
async fn drive(connection: impl Graceful, stop: &CancellationToken, hang_up: Option<&CancellationToken>) {
    let mut connection = pin!(connection);
    let cancelled = async {
        match hang_up {
            Some(hang_up) => tokio::select! {
                () = stop.cancelled() => {}
                () = hang_up.cancelled() => {}
            },
            None => stop.cancelled().await,
        }
    };
    tokio::select! {
        _ = connection.as_mut() => return, // errors are the client's: it disconnected, or broke the protocol
        () = cancelled => connection.as_mut().shut_down(),
    }
    connection.await;
}
