//! Connection pool for one server.
//!
//! Invariants:
//! - `pool.P1`: until the server is known to support only HTTP/1.1, one connection is opened at a time and all waiting
//!   requests share it: a thousand concurrent requests do not open a thousand connections.
//! - `pool.P2`: an idle HTTP/2 connection is closed if there is another one.
//! - `pool.P3`: a request is not sent over a connection with another client certificate than the one that belongs to
//!   its credentials.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, WeakShared};
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::{HeaderValue, Request, Response, Uri, Version};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::dial::{Dialed, Dialer, Protocol, Purpose};
use super::error::is_unprocessed;
use super::tls::Built;
use super::{Body, ConnectError, TransportError};

/// Interval between HTTP/2 pings. With [`PING_TIMEOUT`] this adds up to [`DEAD_AFTER`](super::DEAD_AFTER).
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// Time limit for the response to a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(15);

/// HTTP/2 flow-control window per stream, in bytes. Long lists are slow with less.
const STREAM_WINDOW: u32 = 8 << 20;
/// HTTP/2 flow-control window per connection, in bytes.
const CONNECTION_WINDOW: u32 = 16 << 20;
/// Maximum size of an HTTP/2 frame, in bytes.
const FRAME_SIZE: u32 = 1 << 20;

/// Maximum number of idle HTTP/1.1 connections.
const MAX_IDLE_CONNECTIONS: usize = 25;
/// Time after which an idle HTTP/1.1 connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// Maximum number of retries of a request that the server has not processed (`transport.T1`).
const UNPROCESSED_RETRIES: usize = 3;

/// Interval at which certificate files are checked for changes.
const CERTIFICATE_CHECK_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Pool {
    dialer: Arc<Dialer>,
    state: Arc<Mutex<State>>,
    /// Number of open connections, busy or idle.
    open: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    http2: Vec<Http2>,
    /// Longest idle first.
    idle: VecDeque<Idle>,
    /// The server's protocol, once known.
    protocol: Option<Protocol>,
    /// The connection attempt in progress (`pool.P1`).
    dialing: Option<WeakShared<Dialing>>,
    /// The TLS configuration of new connections.
    tls: Option<Arc<Built>>,
    /// Time of the last certificate check.
    checked: Option<Instant>,
    /// Generation of the credentials at the last certificate check.
    generation: Option<u64>,
}

type Dialing = BoxFuture<'static, Result<(), Arc<ConnectError>>>;

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut state = f.debug_struct("State");
        state.field("http2", &self.http2.len()).field("idle", &self.idle.len()).finish_non_exhaustive()
    }
}

struct Http2 {
    sender: http2::SendRequest<Body>,
    load: Arc<Load>,
    tls: Option<Arc<Built>>,
}

/// An HTTP/1.1 connection.
#[derive(Debug)]
struct Http1 {
    sender: http1::SendRequest<Body>,
    tls: Option<Arc<Built>>,
}

/// The number of streams on an HTTP/2 connection.
#[derive(Debug)]
struct Load {
    streams: AtomicUsize,
    /// Maximum set by the server (`transport.T3`).
    limit: AtomicUsize,
}

struct Idle {
    connection: Http1,
    since: Instant,
}

/// A connection checked out for one request.
enum Checkout {
    Http1(Http1),
    Http2(http2::SendRequest<Body>, StreamPermit),
}

impl Pool {
    pub(super) fn new(dialer: Dialer) -> Self {
        Self { dialer: Arc::new(dialer), state: Arc::default(), open: Arc::default() }
    }

    pub(super) fn connections(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Counts one more connection until the guard is dropped.
    pub(super) fn count(&self) -> ConnectionGuard {
        ConnectionGuard::new(&self.open)
    }

    /// Sends a request over an existing or new connection. `generation` is that of its credentials (`pool.P3`).
    pub(super) async fn send(
        &self,
        mut request: Request<Body>,
        generation: Option<u64>,
    ) -> Result<Response<Body>, TransportError> {
        let uri = self.dialer.locate(request.uri()).ok_or(TransportError::Uri)?;
        self.retire_outdated(generation).await?;
        let mut tries = 0;
        loop {
            let (mut error, copy) = match self.checkout().await? {
                Checkout::Http2(mut sender, permit) => {
                    *request.uri_mut() = uri.clone();
                    *request.version_mut() = Version::HTTP_2;
                    request.headers_mut().remove(HOST);
                    let copy = try_clone(&request);
                    match sender.try_send_request(request).await {
                        Ok(response) => return Ok(response.map(|body| Body::incoming(body, Some(permit)))),
                        Err(error) => {
                            permit.discard_connection();
                            (error, copy)
                        }
                    }
                }
                Checkout::Http1(mut connection) => {
                    self.prepare_http1(&mut request, &uri);
                    if let Some(proxy) = self.dialer.forwarder() {
                        *request.uri_mut() = uri.clone();
                        if let Some(authorization) = proxy.authorization {
                            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone());
                        }
                    }
                    match connection.sender.try_send_request(request).await {
                        Ok(response) => {
                            let permit = StreamPermit::http1(connection, &self.state);
                            return Ok(response.map(|body| Body::incoming(body, Some(permit))));
                        }
                        Err(error) => (error, None),
                    }
                }
            };
            tries += 1;
            let unsent = error.take_message();
            let error = error.into_error();
            let is_unprocessed = unsent.is_some() || is_unprocessed(&error);
            match unsent.or(copy).filter(|_| is_unprocessed && tries <= UNPROCESSED_RETRIES) {
                Some(retry) => request = retry,
                None if is_unprocessed => return Err(TransportError::Unprocessed { source: error }),
                None => return Err(TransportError::lost(error)),
            }
        }
    }

    /// Removes all connections from the pool, including those being opened. Requests on them continue.
    pub(super) fn retire(&self) {
        let mut state = self.state.lock();
        let unused =
            (std::mem::take(&mut state.http2), std::mem::take(&mut state.idle), state.dialing.take());
        drop(state);
        drop(unused); // outside the lock: dropping may take it
    }

    /// Sends a request over a new HTTP/1.1 connection.
    pub(super) async fn send_on_new_connection(
        &self,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, TransportError> {
        let uri = self.dialer.locate(request.uri()).ok_or(TransportError::Uri)?;
        self.prepare_http1(&mut request, &uri);
        let dialed = self.dialer.dial(Purpose::Upgrade).await.map_err(connect_error)?;
        let mut connection = self.start_http1(dialed).await.map_err(connect_error)?;
        let response = connection.sender.send_request(request).await.map_err(TransportError::lost)?;
        Ok(response.map(|body| Body::incoming(body, Some(StreamPermit::single_use(connection)))))
    }

    fn prepare_http1(&self, request: &mut Request<Body>, uri: &Uri) {
        if let Ok(host) = HeaderValue::from_str(self.dialer.authority().as_str()) {
            request.headers_mut().insert(HOST, host);
        }
        *request.version_mut() = Version::HTTP_11;
        *request.uri_mut() = uri.path_and_query().cloned().map(Uri::from).unwrap_or_default();
    }

    async fn checkout(&self) -> Result<Checkout, TransportError> {
        loop {
            if let Some(checkout) = State::checkout(&self.state) {
                return Ok(checkout);
            }
            if self.state.lock().protocol == Some(Protocol::Http1) {
                let dialed = self.dialer.dial(Purpose::Requests).await.map_err(connect_error)?;
                match dialed.protocol {
                    Protocol::Http1 => {
                        return Ok(Checkout::Http1(self.start_http1(dialed).await.map_err(connect_error)?));
                    }
                    Protocol::Http2 => self.start_http2(dialed).await.map_err(connect_error)?,
                }
                continue;
            }
            self.dial_shared().await.map_err(TransportError::Connect)?;
        }
    }

    /// Joins the connection attempt in progress, or starts one (`pool.P1`).
    async fn dial_shared(&self) -> Result<(), Arc<ConnectError>> {
        let dialing = {
            let mut state = self.state.lock();
            match state.dialing.as_ref().and_then(WeakShared::upgrade) {
                Some(dialing) => dialing,
                None => {
                    let pool = Self {
                        dialer: self.dialer.clone(),
                        state: self.state.clone(),
                        open: self.open.clone(),
                    };
                    let dialing: Dialing = Box::pin(async move { pool.dial_one().await.map_err(Arc::new) });
                    let dialing = dialing.shared();
                    state.dialing = dialing.downgrade();
                    dialing
                }
            }
        };
        dialing.await
    }

    async fn dial_one(&self) -> Result<(), ConnectError> {
        let outcome = async {
            let dialed = self.dialer.dial(Purpose::Requests).await?;
            self.state.lock().protocol = Some(dialed.protocol);
            match dialed.protocol {
                Protocol::Http2 => self.start_http2(dialed).await,
                Protocol::Http1 => {
                    let mut connection = self.start_http1(dialed).await?;
                    // `checkout` discards a connection that is not ready.
                    let ready = connection.sender.ready().await;
                    ready
                        .map_err(|source| ConnectError::Handshake { address: self.dialer.host(), source })?;
                    self.state.lock().checkin(connection);
                    Ok(())
                }
            }
        };
        let outcome = outcome.await;
        self.state.lock().dialing = None;
        outcome
    }

    async fn start_http1(&self, dialed: Dialed) -> Result<Http1, ConnectError> {
        let handshake = http1::handshake(dialed.io).await;
        let (sender, connection) =
            handshake.map_err(|source| ConnectError::Handshake { address: self.dialer.host(), source })?;
        let guard = ConnectionGuard::new(&self.open);
        tokio::spawn(async move {
            let _guard = guard;
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "HTTP/1.1 connection failed");
            }
        });
        self.state.lock().opened_with(dialed.tls.as_ref());
        Ok(Http1 { sender, tls: dialed.tls })
    }

    async fn start_http2(&self, dialed: Dialed) -> Result<(), ConnectError> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME_SIZE);
        let handshake = builder.handshake(dialed.io).await;
        let (sender, connection) =
            handshake.map_err(|source| ConnectError::Handshake { address: self.dialer.host(), source })?;
        let limit = AtomicUsize::new(connection.current_max_send_streams());
        let load = Arc::new(Load { streams: AtomicUsize::new(0), limit });
        let driver = Driver { connection, load: load.clone() };
        let (state, guard) = (Arc::downgrade(&self.state), ConnectionGuard::new(&self.open));
        let driven = load.clone();
        tokio::spawn(async move {
            let _guard = guard;
            if let Err(error) = driver.await {
                tracing::debug!(%error, "HTTP/2 connection failed");
            }
            remove(&state, &driven);
        });
        let mut state = self.state.lock();
        state.opened_with(dialed.tls.as_ref());
        state.http2.push(Http2 { sender, load, tls: dialed.tls });
        Ok(())
    }

    /// Removes connections whose certificates are outdated (`pool.P3`). Requests on them continue.
    async fn retire_outdated(&self, generation: Option<u64>) -> Result<(), TransportError> {
        {
            let mut state = self.state.lock();
            let now = Instant::now();
            let is_due =
                state.checked.is_none_or(|checked| now.duration_since(checked) >= CERTIFICATE_CHECK_INTERVAL);
            let has_changed = generation.is_some() && generation != state.generation;
            if state.tls.is_none() || !(is_due || has_changed) {
                return Ok(());
            }
            state.checked = Some(now);
        }
        let Some(current) = self.dialer.current_tls().await.map_err(connect_error)? else { return Ok(()) };
        let mut state = self.state.lock();
        state.generation = generation.or(state.generation);
        if state.tls.as_ref().is_some_and(|known| !Arc::ptr_eq(known, &current)) {
            tracing::info!("certificates have changed; opening new connections");
        }
        let is_current = |tls: &Option<Arc<Built>>| is_same(tls.as_ref(), Some(&current));
        state.http2.retain(|connection| is_current(&connection.tls));
        state.idle.retain(|idle| is_current(&idle.connection.tls));
        state.tls = Some(current);
        Ok(())
    }
}

fn is_same(one: Option<&Arc<Built>>, other: Option<&Arc<Built>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Clones a request, unless its body can be read only once.
fn try_clone(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

fn connect_error(error: ConnectError) -> TransportError {
    TransportError::Connect(Arc::new(error))
}

impl State {
    /// Returns an existing connection that can take a request: the busiest one, so that others become idle (`pool.P2`).
    fn checkout(state: &Arc<Mutex<Self>>) -> Option<Checkout> {
        let mut this = state.lock();
        this.http2.retain(|connection| !connection.sender.is_closed());
        let free = this.http2.iter().filter(|connection| connection.load.has_room());
        if let Some(connection) =
            free.max_by_key(|connection| connection.load.streams.load(Ordering::Relaxed))
        {
            connection.load.streams.fetch_add(1, Ordering::Relaxed);
            let permit = StreamPermit::http2(connection.load.clone(), state);
            return Some(Checkout::Http2(connection.sender.clone(), permit));
        }
        while let Some(idle) = this.idle.pop_back() {
            if idle.connection.sender.is_ready() && idle.since.elapsed() < IDLE_TIMEOUT {
                return Some(Checkout::Http1(idle.connection));
            }
        }
        None
    }

    /// Records the TLS configuration of a new connection. If it is not the known one, the next request checks which is
    /// current.
    fn opened_with(&mut self, tls: Option<&Arc<Built>>) {
        if self.tls.is_none() {
            self.tls = tls.cloned();
        } else if !is_same(self.tls.as_ref(), tls) {
            self.checked = None;
        }
    }

    fn checkin(&mut self, connection: Http1) {
        if !is_same(self.tls.as_ref(), connection.tls.as_ref()) {
            return; // pool.P3: the certificate changed while the connection was busy
        }
        if self.idle.len() >= MAX_IDLE_CONNECTIONS {
            self.idle.pop_front();
        }
        self.idle.push_back(Idle { connection, since: Instant::now() });
    }
}

impl Load {
    fn has_room(&self) -> bool {
        self.streams.load(Ordering::Relaxed) < self.limit.load(Ordering::Relaxed)
    }
}

fn remove(state: &Weak<Mutex<State>>, load: &Arc<Load>) {
    if let Some(state) = state.upgrade() {
        state.lock().http2.retain(|connection| !Arc::ptr_eq(&connection.load, load));
    }
}

/// A hold on a connection, or on a stream of one, while a response is being read.
#[derive(Debug)]
pub(super) struct StreamPermit {
    state: Weak<Mutex<State>>,
    held: Held,
}

#[derive(Debug)]
enum Held {
    Http1(Option<Http1>),
    Http2(Arc<Load>),
}

impl StreamPermit {
    fn http1(connection: Http1, state: &Arc<Mutex<State>>) -> Self {
        Self { state: Arc::downgrade(state), held: Held::Http1(Some(connection)) }
    }

    /// Creates a permit whose connection does not return to the pool.
    fn single_use(connection: Http1) -> Self {
        Self { state: Weak::new(), held: Held::Http1(Some(connection)) }
    }

    fn http2(load: Arc<Load>, state: &Arc<Mutex<State>>) -> Self {
        Self { state: Arc::downgrade(state), held: Held::Http2(load) }
    }

    /// Removes the connection from the pool.
    fn discard_connection(self) {
        if let Held::Http2(load) = &self.held {
            remove(&self.state, load);
        }
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        match &mut self.held {
            Held::Http2(load) => {
                let left = load.streams.fetch_sub(1, Ordering::Relaxed) - 1;
                let Some(state) = self.state.upgrade().filter(|_| left == 0) else { return };
                let mut state = state.lock();
                if state.http2.len() > 1 && load.streams.load(Ordering::Relaxed) == 0 {
                    state.http2.retain(|connection| !Arc::ptr_eq(&connection.load, load)); // pool.P2
                }
            }
            Held::Http1(connection) => {
                let (Some(mut connection), Some(_), Ok(runtime)) =
                    (connection.take(), self.state.upgrade(), tokio::runtime::Handle::try_current())
                else {
                    return;
                };
                let state = self.state.clone();
                // Ready at once if the body was read to its end, and never otherwise.
                runtime.spawn(async move {
                    if connection.sender.ready().await.is_ok()
                        && let Some(state) = state.upgrade()
                    {
                        state.lock().checkin(connection);
                    }
                });
            }
        }
    }
}

/// A future that drives an HTTP/2 connection and tracks the server's stream limit.
struct Driver {
    connection: http2::Connection<Box<dyn super::dial::Io>, Body, TokioExecutor>,
    load: Arc<Load>,
}

impl Future for Driver {
    type Output = hyper::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = Pin::new(&mut self.connection).poll(context);
        self.load.limit.store(self.connection.current_max_send_streams(), Ordering::Relaxed);
        polled
    }
}

/// Counts an open connection until it is dropped.
pub(super) struct ConnectionGuard(Arc<AtomicUsize>);

impl ConnectionGuard {
    fn new(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(open.clone())
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::DEAD_AFTER;

    /// `transport.T2` for HTTP/2.
    #[test]
    fn pings_detect_a_dead_connection_in_time() {
        assert_eq!(PING_INTERVAL + PING_TIMEOUT, DEAD_AFTER);
    }
}
