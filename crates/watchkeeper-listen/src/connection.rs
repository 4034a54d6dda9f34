//! Connection: serves the requests of one client over HTTP/1.1 or HTTP/2.
//!
//! Input: a socket that the [`Listener`](crate::Listener) has accepted.
//! Output: a [`Service`](crate::Service), one call per request.
//!
//! The invariants are those of [`listener`](crate::listener).

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_core::future::BoxFuture;
use http::header::{CONNECTION, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderValue, StatusCode};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either as EitherStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::Budget;
use crate::framing::{Ambiguous, Framed};
use crate::gather::Gathered;
use crate::listener::{ConnectionLimits, Security};
use crate::metered::Metered;
use crate::progress::{CURRENT, StallTimeouts, unless_stalled};
use crate::service::{AnyBody, AnyService, Handler, ServiceRequest};
use crate::stall::Stalling;
use crate::switch::Switch;

/// A plain or a TLS connection: one type, so that hyper is compiled once for both.
type Stream = EitherStream<TcpStream, TlsStream<TcpStream>>;

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
pub(super) struct Connection {
    pub(super) service: Arc<dyn AnyService>,
    pub(super) limits: ConnectionLimits,
    pub(super) stop: CancellationToken,
    pub(super) remote: SocketAddr,
    pub(super) tracker: TaskTracker,
    /// Cuts off the streams of all connections.
    pub(super) cut: CancellationToken,
    pub(super) budget: Budget,
}

impl Connection {
    /// Serves requests until the client disconnects, or the listener stops.
    pub(super) async fn accept(self, stream: TcpStream, security: Security) {
        let _ = stream.set_nodelay(true); // only an optimization
        if matches!(security, Security::Plain) {
            let Some(Ok(protocol)) =
                self.stop.run_until_cancelled(timeout(self.limits.head, detect_protocol(&stream))).await
            else {
                return;
            };
            let handler = self.service.clone().handler(None);
            return Box::pin(self.serve(Stream::Left(stream), handler, protocol)).await;
        }
        let handshake = timeout(self.limits.handshake, async {
            let acceptor = TlsAcceptor::from(security.current().await?);
            acceptor.accept(stream).await.ok()
        });
        let Some(Ok(Some(stream))) = self.stop.run_until_cancelled(handshake).await else { return };
        let (_, session) = stream.get_ref();
        let certificate = session.peer_certificates().and_then(|chain| chain.first());
        let handler = self.service.clone().handler(certificate.map(AsRef::as_ref));
        let protocol = match session.alpn_protocol() {
            Some(b"h2") => Protocol::Http2,
            _ => Protocol::Http1,
        };
        Box::pin(self.serve(Stream::Right(stream), handler, protocol)).await;
    }

    async fn serve(self, stream: Stream, handler: Handler, protocol: Protocol) {
        let Self { service: _, limits, stop, remote, tracker, cut: cut_all, budget } = self;
        let timeouts = StallTimeouts { stall: limits.stall, scarce: limits.stall_when_scarce };
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
                let (switch, budget) = (switch.clone(), budget.clone());
                // Only HTTP/1.1 has this header.
                let is_chunked = request.headers().contains_key(TRANSFER_ENCODING);
                let is_ambiguous = is_chunked && ambiguous.get();
                let request =
                    ServiceRequest { request, peer: None, remote, stop, connection, switch, budget };
                let (handler, hang_up) = (handler.clone(), hang_up.clone());
                async move {
                    if is_ambiguous {
                        return Ok(close_after(reject_ambiguous()));
                    }
                    let response = respond(&handler, request, &hang_up, over_http2).await.map(Either::Left);
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
                    .serve_connection(TokioIo::new(Stalling::new(stream, limits.stall)), service)
                    .with_upgrades();
                // An HTTP/1.1 connection is closed by a `Connection: close` header instead of `hang_up`.
                let connection: BoxFuture<'_, ()> = Box::pin(drive(connection, &stop, None));
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
                    .serve_connection(TokioIo::new(Gathered::new(stream)), service);
                let silent = async {
                    tokio::time::sleep(limits.head).await;
                    if begun.load(Ordering::Relaxed) {
                        std::future::pending::<()>().await;
                    }
                };
                let connection: BoxFuture<'_, ()> = Box::pin(drive(connection, &stop, Some(&hang_up)));
                tokio::select! {
                    () = connection => {}
                    () = silent => {} // listener.C3
                    () = cut.cancelled() => {}
                }
            }
        }
    }
}

/// Calls the handler, and charges the body of its response to the budget of the connection.
async fn respond(
    handler: &Handler,
    request: ServiceRequest<()>,
    hang_up: &CancellationToken,
    over_http2: bool,
) -> http::Response<Metered<AnyBody>> {
    let (method, uri) = (request.request.method().clone(), request.request.uri().clone());
    let budget = request.budget.clone();
    let response = handler(request).await;
    let progress = CURRENT.try_with(Arc::clone).unwrap_or_default();
    progress.begin(&method, &uri);
    // Set for unauthenticated clients: they should not keep a connection for many requests.
    if response.hang_up {
        hang_up.cancel();
    }
    let charge = response.charge;
    response.response.map(|body| Metered::new(body, budget, charge, progress, over_http2))
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
