//! Listener: connections, from accept to the last byte.
//!
//! From: a socket.
//! To:   an [`Answer`], request by request.
//!
//! - C1: every connection and every stream of one is a task that [`Listener::run`] owns; when it returns,
//!   none is left.
//! - C2: there are at most [`ConnectionLimits::connections`]; more wait in the socket's queue.
//! - C3: who connects and says nothing is cut off: within [`ConnectionLimits::handshake`] for TLS, within
//!   [`ConnectionLimits::head`] for a request.
//! - C4: a client that does not read a response is disconnected after [`ConnectionLimits::stall`]: over HTTP/2 from
//!   that stream only. The reason is logged.
//! - C5: responses hold at most [`ConnectionLimits::unread_bytes`] that clients have not read, and those of one
//!   connection at most [`ConnectionLimits::connection_unread_bytes`]. More is encoded only when that is read.
//!
//! When it is told to stop, a listener accepts nobody, ends every stream, lets requests in flight finish
//! and idle connections go, and after [`ConnectionLimits::drain`] cuts off the rest.

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

use crate::answer::{Answer, Arrival};
use crate::budget::Budget;
use crate::framing::{Ambiguous, Framed};
use crate::gather::Gathered;
use crate::metered::Metered;
use crate::progress::{CURRENT, Patience, unless_stalled};
use crate::stall::Stalling;
use crate::switch::Switch;

/// What a listener takes on, and how long it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections at once (C2).
    pub connections: usize,
    /// How long a TLS handshake may take (C3).
    pub handshake: Duration,
    /// How long the head of a request may take, counted from when the connection waits for one. So it is
    /// also how long an idle connection of HTTP/1.1 stays, and how long one of HTTP/2 may put off its
    /// first request.
    pub head: Duration,
    /// Bytes of the head of a request.
    pub head_bytes: usize,
    /// Requests at once on a connection of HTTP/2.
    pub streams: u32,
    /// How often a connection of HTTP/2 is asked whether the client is still there.
    pub ping_every: Duration,
    /// How long it may take to say so.
    pub ping_timeout: Duration,
    /// How long a client may read nothing of a response that waits for it (C4).
    pub stall: Duration,
    /// The same while unread bytes are used up (C5) and other responses wait for them.
    pub stall_when_scarce: Duration,
    /// Bytes of responses that are encoded and that clients have not read, on all connections together (C5).
    pub unread_bytes: usize,
    /// The same for one connection (C5).
    pub connection_unread_bytes: usize,
    /// How long a stop waits for requests in flight.
    pub drain: Duration,
}

impl ConnectionLimits {
    /// 10,000 connections, 10 s for a handshake, 90 s and 256 KiB for a head, 100 streams, a ping every
    /// 30 s with 15 s to answer, 60 s to read on (5 s while unread bytes are used up), 256 MiB unread of which 16 MiB on
    /// one connection, and 10 s to drain.
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

/// The smallest buffer that hyper reads the head of a request into.
const LEAST_HEAD_BYTES: usize = 8 << 10;

/// How HTTP/2 begins where it was not agreed on.
const PREFACE: [u8; 24] = *b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes that a client may send ahead on a stream of HTTP/2, and on a connection: a body of 3 MiB goes out
/// without a pause.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// Bytes of one frame of HTTP/2.
const FRAME_BYTES: u32 = 1 << 20;

/// Bytes of a stream of HTTP/2 that are encoded ahead of the client.
const SEND_BUFFER_BYTES: usize = 256 << 10;

/// How long accepting pauses when the system has no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Whether connections are encrypted.
#[derive(Debug, Clone)]
pub enum Security {
    /// By TLS.
    Tls(Arc<ServerConfig>),
    /// By TLS, as it is to be when a connection begins. Connections stay as they began.
    Renewed(Arc<dyn Certificates>),
    /// Not at all, and so on loopback only.
    Plain,
}

/// Why a listener cannot be had, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address is taken, or is not ours.
    #[error("{address} cannot be listened on")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Without TLS everybody on the way could read along.
    #[error("{address} is not on loopback, and plain HTTP is for loopback only")]
    PlainBeyondLoopback {
        /// The address.
        address: SocketAddr,
    },
}

/// What TLS is to be, from one connection to the next.
pub trait Certificates: fmt::Debug + Send + Sync {
    /// What a connection is served by that begins now; `None` cuts it off. It counts as part of the handshake.
    fn current(&self) -> CurrentConfig<'_>;
}

/// What a look for certificates does while it is awaited.
pub type CurrentConfig<'a> = Pin<Box<dyn Future<Output = Option<Arc<ServerConfig>>> + Send + 'a>>;

impl Security {
    /// What a connection is served by that begins now, if it is encrypted.
    async fn current(&self) -> Option<Arc<ServerConfig>> {
        match self {
            Self::Tls(config) => Some(config.clone()),
            Self::Renewed(certificates) => certificates.current().await,
            Self::Plain => None,
        }
    }

    /// Whether connections to this address may be as this says.
    ///
    /// # Errors
    /// [`ListenError::PlainBeyondLoopback`].
    pub fn suits(&self, address: SocketAddr) -> Result<(), ListenError> {
        match self {
            Self::Plain if !address.ip().is_loopback() => Err(ListenError::PlainBeyondLoopback { address }),
            Self::Plain | Self::Tls(_) | Self::Renewed(_) => Ok(()),
        }
    }
}

/// An address that is taken, for those who must have it before they know how connections are secured.
#[derive(Debug)]
pub struct Socket {
    socket: TcpListener,
    address: SocketAddr,
}

impl Socket {
    /// Takes an address; port 0 is any that is free. From here on clients can connect, and wait.
    ///
    /// # Errors
    /// Where the address cannot be had.
    pub async fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let bound = async {
            let socket = TcpListener::bind(address).await?;
            let address = socket.local_addr()?;
            Ok(Self { socket, address })
        };
        bound.await.map_err(|source| ListenError::Bind { address, source })
    }

    /// Secures connections like this.
    ///
    /// # Errors
    /// Where the address is not on loopback and connections would be plain.
    pub fn listen(self, security: Security) -> Result<Listener, ListenError> {
        security.suits(self.address)?;
        let Self { socket, address } = self;
        Ok(Listener { socket, address, security, limits: ConnectionLimits::DEFAULT })
    }
}

/// A socket that nobody is accepted from yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    security: Security,
    limits: ConnectionLimits,
}

impl Listener {
    /// Takes an address; port 0 is any that is free. From here on clients can connect, and wait.
    ///
    /// # Errors
    /// Where the address cannot be had, or is not on loopback and connections would be plain.
    pub async fn bind(address: SocketAddr, security: Security) -> Result<Self, ListenError> {
        security.suits(address)?;
        Socket::bind(address).await?.listen(security)
    }

    /// What it takes on, and how long it waits; by default [`ConnectionLimits::DEFAULT`].
    #[must_use]
    pub fn limits(mut self, limits: ConnectionLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where a client on this machine connects to: a listener on all addresses is reached by loopback.
    pub fn local_address(&self) -> SocketAddr {
        let ip = match self.address.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        SocketAddr::new(ip, self.address.port())
    }

    /// `https://127.0.0.1:6443`, for a client on this machine.
    pub fn url(&self) -> String {
        match self.security {
            Security::Tls(_) | Security::Renewed(_) => format!("https://{}", self.local_address()),
            Security::Plain => format!("http://{}", self.local_address()),
        }
    }

    /// Accepts and answers until `stop` is cancelled, and returns once every connection has ended. If it
    /// is dropped before that, connections are cut off.
    pub async fn run<A: Answer>(self, front: A, stop: CancellationToken) {
        let front = Arc::new(front);
        let permits = Arc::new(Semaphore::new(self.limits.connections.clamp(1, Semaphore::MAX_PERMITS)));
        let mut connections = JoinSet::new();
        let (cut, tracker) = (CancellationToken::new(), TaskTracker::new());
        let _cut_on_drop = cut.clone().drop_guard();
        let budget = Budget::limited(self.limits.connection_unread_bytes, self.limits.unread_bytes);
        let accepting = async {
            loop {
                while connections.try_join_next().is_some() {} // a panic in one is none of the others' business
                let Ok(permit) = permits.clone().acquire_owned().await else { return }; // never closed
                let Ok((stream, remote)) = self.socket.accept().await else {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                let connection = Connection {
                    front: front.clone(),
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
        cut.cancel(); // streams outlive their connection by moments, if at all
        tracker.close();
        tracker.wait().await; // C1
    }
}

/// Runs the streams of HTTP/2, each for as long as nobody cuts it off and its client reads (C4).
#[derive(Clone)]
struct Streams {
    tracker: TaskTracker,
    cut: CancellationToken,
    patience: Patience,
    budget: Budget,
    client: SocketAddr,
}

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, future: F) {
        let Self { cut, patience, budget, client, .. } = self.clone();
        let future = Box::pin(future); // large, and each future around it would have room for a copy
        self.tracker.spawn(async move {
            cut.run_until_cancelled(unless_stalled(future, Arc::default(), patience, budget, client)).await;
        });
    }
}

/// What a connection knows of its server.
struct Connection<A> {
    front: Arc<A>,
    limits: ConnectionLimits,
    stop: CancellationToken,
    remote: SocketAddr,
    tracker: TaskTracker,
    /// Cuts off the streams of all connections.
    cut: CancellationToken,
    budget: Budget,
}

impl<A: Answer> Connection<A> {
    async fn accept(self, stream: TcpStream, security: Security) {
        let _ = stream.set_nodelay(true); // it is slower without, and not wrong
        if matches!(security, Security::Plain) {
            let Some(Ok(protocol)) =
                self.stop.run_until_cancelled(timeout(self.limits.head, spoken(&stream))).await
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
        let peer = certificate.and_then(|certificate| self.front.peer(certificate)).map(Arc::new);
        let protocol = match session.alpn_protocol() {
            Some(b"h2") => Protocol::Http2,
            _ => Protocol::Http1,
        };
        Box::pin(self.serve(stream, peer, protocol)).await;
    }

    async fn serve<S>(self, stream: S, peer: Option<Arc<A::Peer>>, protocol: Protocol)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { front, limits, stop, remote, tracker, cut: cut_all, budget } = self;
        let patience = Patience { stall: limits.stall, scarce: limits.stall_when_scarce };
        let over_http2 = matches!(protocol, Protocol::Http2);
        let begun = Arc::new(AtomicBool::new(false));
        let hang_up = CancellationToken::new();
        let cut = CancellationToken::new();
        let switch = Switch::default();
        let ambiguous = Ambiguous::default();
        let service = {
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
                let arrival =
                    Arrival { request, peer, remote, stop, connection, switch, budget: budget.clone() };
                let (front, hang_up) = (front.clone(), hang_up.clone());
                async move {
                    if is_ambiguous {
                        return Ok(closing(two_lengths()));
                    }
                    let departure = front.answer(arrival).await;
                    let progress = CURRENT.try_with(Arc::clone).unwrap_or_default();
                    progress.of(&method, &uri);
                    // Who is not known does not keep a connection that can carry a hundred requests.
                    if departure.hang_up {
                        hang_up.cancel();
                    }
                    let response = departure.response.map(|body| {
                        Either::Left(Metered::new(body, budget, departure.charge, progress, over_http2))
                    });
                    Ok::<_, Infallible>(if is_chunked { closing(response) } else { response })
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
                    .serve_connection(TokioIo::new(Stalling::new(stream, limits.stall)), service)
                    .with_upgrades();
                // A connection of HTTP/1.1 is asked to close by a header where that is due.
                let connection = Box::pin(drive(connection, &stop, None));
                let connection = unless_stalled(connection, Arc::default(), patience, budget, remote);
                let ended = cut.run_until_cancelled(connection).await.flatten();
                if let (Some(()), Some(then)) = (ended, switch.take()) {
                    let then = cut.run_until_cancelled(then);
                    stop.run_until_cancelled(then).await;
                }
            }
            Protocol::Http2 => {
                let streams = Streams { tracker, cut: cut_all, patience, budget, client: remote };
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
                    .serve_connection(TokioIo::new(Gathered::new(stream)), service);
                let silent = async {
                    tokio::time::sleep(limits.head).await;
                    if begun.load(Ordering::Relaxed) {
                        std::future::pending::<()>().await;
                    }
                };
                let connection = Box::pin(drive(connection, &stop, Some(&hang_up)));
                tokio::select! {
                    () = connection => {}
                    () = silent => {} // C3
                    () = cut.cancelled() => {}
                }
            }
        }
    }
}

/// Refuses a request with both `Transfer-Encoding` and `Content-Length`: see [`framing`](crate::framing).
fn two_lengths<B>() -> http::Response<Either<B, Full<Bytes>>> {
    let text = "400 Bad Request: both Transfer-Encoding and Content-Length\n";
    let mut response = http::Response::new(Either::Right(Full::from(text)));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// Closes the connection after this response.
fn closing<B>(mut response: http::Response<B>) -> http::Response<B> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

#[derive(Clone, Copy)]
enum Protocol {
    Http1,
    Http2,
}

/// What somebody speaks with whom nothing was agreed: HTTP/2 begins with words that no request of HTTP/1.1 has.
async fn spoken(stream: &TcpStream) -> Protocol {
    let mut first = [0; PREFACE.len()];
    match stream.peek(&mut first).await {
        Ok(count) if count == first.len() && first == PREFACE => Protocol::Http2,
        _ => Protocol::Http1, // an error comes again when it is read from
    }
}

/// A connection that can be told to take no more requests.
trait Graceful: Future {
    fn shut(self: Pin<&mut Self>);
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
    fn shut(self: Pin<&mut Self>) {
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
    fn shut(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Runs a connection to its end, and lets it take no more requests once somebody says so.
async fn drive(connection: impl Graceful, stop: &CancellationToken, hang_up: Option<&CancellationToken>) {
    let mut connection = pin!(connection);
    let told = async {
        match hang_up {
            Some(hang_up) => tokio::select! {
                () = stop.cancelled() => {}
                () = hang_up.cancelled() => {}
            },
            None => stop.cancelled().await,
        }
    };
    tokio::select! {
        _ = connection.as_mut() => return, // an error is the client's: it went away, or made no sense
        () = told => connection.as_mut().shut(),
    }
    connection.await;
}
