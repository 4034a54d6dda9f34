//! Pool: the connections to one server.
//!
//! - P1: while it is not known that the server speaks only HTTP/1.1, one connection is made at a time, and
//!   all who wait for it share what comes of it: a thousand requests at once do not make a thousand
//!   connections.
//! - P2: an HTTP/2 connection on which nothing is going on is closed if there is another.
//! - P3: a request does not go over a connection that was made with another certificate than the one that
//!   came with its credentials.

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

/// When an HTTP/2 connection is asked whether it is still there, and how long it may take to say so;
/// together they make [`DEAD_AFTER`](super::DEAD_AFTER).
const PING_AFTER: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(15);

/// How much a server may send before it hears from us: per stream and per connection. Long lists are slow
/// with less.
const STREAM_WINDOW: u32 = 8 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;
const FRAME_SIZE: u32 = 1 << 20;

/// How many HTTP/1.1 connections are kept for later, and for how long.
const IDLE_CONNECTIONS: usize = 25;
const IDLE_TIME: Duration = Duration::from_secs(90);

/// How often a request is tried on another connection because the server has not looked at it (T1).
const UNPROCESSED_RETRIES: usize = 3;

/// How often certificates are looked at that may have changed.
const CERTIFICATE_CHECK: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Pool {
    dialer: Arc<Dialer>,
    state: Arc<Mutex<State>>,
    /// How many connections there are, in use or not.
    open: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    http2: Vec<Http2>,
    /// The longest unused first.
    idle: VecDeque<Idle>,
    /// What the server speaks, once that is known.
    protocol: Option<Protocol>,
    /// A connection that is being made (P1).
    dialing: Option<WeakShared<Dialing>>,
    /// The certificates that new connections are made with, when that was looked at, and for which
    /// generation of credentials.
    certificates: Option<Arc<Built>>,
    checked: Option<Instant>,
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
    made_with: Option<Arc<Built>>,
}

/// An HTTP/1.1 connection.
#[derive(Debug)]
struct Http1 {
    sender: http1::SendRequest<Body>,
    made_with: Option<Arc<Built>>,
}

/// How much is going on on an HTTP/2 connection.
#[derive(Debug)]
struct Load {
    streams: AtomicUsize,
    /// What the server allows (T3).
    limit: AtomicUsize,
}

struct Idle {
    connection: Http1,
    since: Instant,
}

/// A connection to send one request on.
enum Place {
    Http1(Http1),
    Http2(http2::SendRequest<Body>, Lease),
}

impl Pool {
    pub(super) fn new(dialer: Dialer) -> Self {
        Self { dialer: Arc::new(dialer), state: Arc::default(), open: Arc::default() }
    }

    pub(super) fn connections(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// One more connection, for as long as this is kept.
    pub(super) fn count(&self) -> Counted {
        Counted::new(&self.open)
    }

    /// Sends a request on a connection that there is, or on a new one; with credentials of which generation
    /// is for P3.
    pub(super) async fn send(
        &self,
        mut request: Request<Body>,
        generation: Option<u64>,
    ) -> Result<Response<Body>, TransportError> {
        let uri = self.dialer.locate(request.uri()).ok_or(TransportError::Uri)?;
        self.retire_outdated(generation).await?;
        let mut tries = 0;
        loop {
            let (mut error, copy) = match self.place().await? {
                Place::Http2(mut sender, lease) => {
                    *request.uri_mut() = uri.clone();
                    *request.version_mut() = Version::HTTP_2;
                    request.headers_mut().remove(HOST);
                    let copy = copy(&request);
                    match sender.try_send_request(request).await {
                        Ok(response) => return Ok(response.map(|body| Body::incoming(body, Some(lease)))),
                        Err(error) => {
                            lease.forget();
                            (error, copy)
                        }
                    }
                }
                Place::Http1(mut connection) => {
                    self.speak_http1(&mut request, &uri);
                    if let Some(proxy) = self.dialer.forwarder() {
                        *request.uri_mut() = uri.clone();
                        if let Some(authorization) = proxy.authorization {
                            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone());
                        }
                    }
                    match connection.sender.try_send_request(request).await {
                        Ok(response) => {
                            let lease = Lease::http1(connection, &self.state);
                            return Ok(response.map(|body| Body::incoming(body, Some(lease))));
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
                Some(again) => request = again,
                None if is_unprocessed => return Err(TransportError::Unprocessed { source: error }),
                None => return Err(TransportError::lost(error)),
            }
        }
    }

    /// Takes all connections out of use, those included that are being made. Requests on them go on.
    pub(super) fn retire(&self) {
        let mut state = self.state.lock();
        let unused =
            (std::mem::take(&mut state.http2), std::mem::take(&mut state.idle), state.dialing.take());
        drop(state);
        drop(unused); // without the lock: what is dropped may take it
    }

    /// Sends a request on an HTTP/1.1 connection of its own.
    pub(super) async fn send_alone(
        &self,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, TransportError> {
        let uri = self.dialer.locate(request.uri()).ok_or(TransportError::Uri)?;
        self.speak_http1(&mut request, &uri);
        let dialed = self.dialer.dial(Purpose::Upgrade).await.map_err(refused)?;
        let mut connection = self.begin_http1(dialed).await.map_err(refused)?;
        let response = connection.sender.send_request(request).await.map_err(TransportError::lost)?;
        Ok(response.map(|body| Body::incoming(body, Some(Lease::alone(connection)))))
    }

    fn speak_http1(&self, request: &mut Request<Body>, uri: &Uri) {
        if let Ok(host) = HeaderValue::from_str(self.dialer.authority().as_str()) {
            request.headers_mut().insert(HOST, host);
        }
        *request.version_mut() = Version::HTTP_11;
        *request.uri_mut() = uri.path_and_query().cloned().map(Uri::from).unwrap_or_default();
    }

    async fn place(&self) -> Result<Place, TransportError> {
        loop {
            if let Some(place) = State::take(&self.state) {
                return Ok(place);
            }
            if self.state.lock().protocol == Some(Protocol::Http1) {
                let dialed = self.dialer.dial(Purpose::Requests).await.map_err(refused)?;
                match dialed.protocol {
                    Protocol::Http1 => {
                        return Ok(Place::Http1(self.begin_http1(dialed).await.map_err(refused)?));
                    }
                    Protocol::Http2 => self.begin_http2(dialed).await.map_err(refused)?,
                }
                continue;
            }
            self.dial_together().await.map_err(TransportError::Connect)?;
        }
    }

    /// P1: joins whoever makes a connection, or begins to make one.
    async fn dial_together(&self) -> Result<(), Arc<ConnectError>> {
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
                Protocol::Http2 => self.begin_http2(dialed).await,
                Protocol::Http1 => {
                    let mut connection = self.begin_http1(dialed).await?;
                    // One that is not ready when it is taken is thrown away.
                    let ready = connection.sender.ready().await;
                    ready.map_err(|source| ConnectError::Handshake {
                        address: self.dialer.address(),
                        source,
                    })?;
                    self.state.lock().put(connection);
                    Ok(())
                }
            }
        };
        let outcome = outcome.await;
        self.state.lock().dialing = None;
        outcome
    }

    async fn begin_http1(&self, dialed: Dialed) -> Result<Http1, ConnectError> {
        let handshake = http1::handshake(dialed.io).await;
        let (sender, connection) =
            handshake.map_err(|source| ConnectError::Handshake { address: self.dialer.address(), source })?;
        let counted = Counted::new(&self.open);
        tokio::spawn(async move {
            let _counted = counted;
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "an HTTP/1.1 connection has ended");
            }
        });
        self.state.lock().made_with(dialed.made_with.as_ref());
        Ok(Http1 { sender, made_with: dialed.made_with })
    }

    async fn begin_http2(&self, dialed: Dialed) -> Result<(), ConnectError> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_AFTER)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME_SIZE);
        let handshake = builder.handshake(dialed.io).await;
        let (sender, connection) =
            handshake.map_err(|source| ConnectError::Handshake { address: self.dialer.address(), source })?;
        let limit = AtomicUsize::new(connection.current_max_send_streams());
        let load = Arc::new(Load { streams: AtomicUsize::new(0), limit });
        let driver = Driver { connection, load: load.clone() };
        let (state, counted) = (Arc::downgrade(&self.state), Counted::new(&self.open));
        let of = load.clone();
        tokio::spawn(async move {
            let _counted = counted;
            if let Err(error) = driver.await {
                tracing::debug!(%error, "an HTTP/2 connection has ended");
            }
            forget(&state, &of);
        });
        let mut state = self.state.lock();
        state.made_with(dialed.made_with.as_ref());
        state.http2.push(Http2 { sender, load, made_with: dialed.made_with });
        Ok(())
    }

    /// Takes connections out of use that were made with certificates that hold no more (P3). What is going
    /// on on them goes on.
    async fn retire_outdated(&self, generation: Option<u64>) -> Result<(), TransportError> {
        {
            let mut state = self.state.lock();
            let now = Instant::now();
            let is_due = state.checked.is_none_or(|checked| now.duration_since(checked) >= CERTIFICATE_CHECK);
            let has_changed = generation.is_some() && generation != state.generation;
            if state.certificates.is_none() || !(is_due || has_changed) {
                return Ok(());
            }
            state.checked = Some(now);
        }
        let Some(current) = self.dialer.certificates().await.map_err(refused)? else { return Ok(()) };
        let mut state = self.state.lock();
        state.generation = generation.or(state.generation);
        if state.certificates.as_ref().is_some_and(|known| !Arc::ptr_eq(known, &current)) {
            tracing::info!("certificates have changed: new connections will be made");
        }
        let holds = |made_with: &Option<Arc<Built>>| is_same(made_with.as_ref(), Some(&current));
        state.http2.retain(|connection| holds(&connection.made_with));
        state.idle.retain(|idle| holds(&idle.connection.made_with));
        state.certificates = Some(current);
        Ok(())
    }
}

fn is_same(one: Option<&Arc<Built>>, other: Option<&Arc<Built>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// The same request once more, if it can be had twice.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().copy()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

fn refused(error: ConnectError) -> TransportError {
    TransportError::Connect(Arc::new(error))
}

impl State {
    /// A connection that can take a request: of those that can, the fullest, so that others fall empty (P2).
    fn take(state: &Arc<Mutex<Self>>) -> Option<Place> {
        let mut this = state.lock();
        this.http2.retain(|connection| !connection.sender.is_closed());
        let free = this.http2.iter().filter(|connection| connection.load.has_room());
        if let Some(connection) =
            free.max_by_key(|connection| connection.load.streams.load(Ordering::Relaxed))
        {
            connection.load.streams.fetch_add(1, Ordering::Relaxed);
            let lease = Lease::http2(connection.load.clone(), state);
            return Some(Place::Http2(connection.sender.clone(), lease));
        }
        while let Some(idle) = this.idle.pop_back() {
            if idle.connection.sender.is_ready() && idle.since.elapsed() < IDLE_TIME {
                return Some(Place::Http1(idle.connection));
            }
        }
        None
    }

    /// A connection was made with these certificates. If they are others than those that are known, the
    /// next request finds out which ones hold.
    fn made_with(&mut self, certificates: Option<&Arc<Built>>) {
        if self.certificates.is_none() {
            self.certificates = certificates.cloned();
        } else if !is_same(self.certificates.as_ref(), certificates) {
            self.checked = None;
        }
    }

    fn put(&mut self, connection: Http1) {
        if !is_same(self.certificates.as_ref(), connection.made_with.as_ref()) {
            return; // P3: they have changed while it was in use
        }
        if self.idle.len() >= IDLE_CONNECTIONS {
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

fn forget(state: &Weak<Mutex<State>>, load: &Arc<Load>) {
    if let Some(state) = state.upgrade() {
        state.lock().http2.retain(|connection| !Arc::ptr_eq(&connection.load, load));
    }
}

/// A place on a connection, for as long as an answer is being read.
#[derive(Debug)]
pub(super) struct Lease {
    state: Weak<Mutex<State>>,
    of: Of,
}

#[derive(Debug)]
enum Of {
    Http1(Option<Http1>),
    Http2(Arc<Load>),
}

impl Lease {
    fn http1(connection: Http1, state: &Arc<Mutex<State>>) -> Self {
        Self { state: Arc::downgrade(state), of: Of::Http1(Some(connection)) }
    }

    /// The connection is not used again.
    fn alone(connection: Http1) -> Self {
        Self { state: Weak::new(), of: Of::Http1(Some(connection)) }
    }

    fn http2(load: Arc<Load>, state: &Arc<Mutex<State>>) -> Self {
        Self { state: Arc::downgrade(state), of: Of::Http2(load) }
    }

    /// The connection is not used again.
    fn forget(self) {
        if let Of::Http2(load) = &self.of {
            forget(&self.state, load);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        match &mut self.of {
            Of::Http2(load) => {
                let left = load.streams.fetch_sub(1, Ordering::Relaxed) - 1;
                let Some(state) = self.state.upgrade().filter(|_| left == 0) else { return };
                let mut state = state.lock();
                if state.http2.len() > 1 && load.streams.load(Ordering::Relaxed) == 0 {
                    state.http2.retain(|connection| !Arc::ptr_eq(&connection.load, load)); // P2
                }
            }
            Of::Http1(connection) => {
                let (Some(mut connection), Some(_), Ok(runtime)) =
                    (connection.take(), self.state.upgrade(), tokio::runtime::Handle::try_current())
                else {
                    return;
                };
                let state = self.state.clone();
                // It is ready at once if the body was read to its end, and never if it was not.
                runtime.spawn(async move {
                    if connection.sender.ready().await.is_ok()
                        && let Some(state) = state.upgrade()
                    {
                        state.lock().put(connection);
                    }
                });
            }
        }
    }
}

/// Drives an HTTP/2 connection, and tells how many requests the server allows.
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

/// One of the connections that there are.
pub(super) struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(open.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::DEAD_AFTER;

    /// T2, of HTTP/2.
    #[test]
    fn pings_find_a_dead_connection_in_time() {
        assert_eq!(PING_AFTER + PING_TIMEOUT, DEAD_AFTER);
    }
}
