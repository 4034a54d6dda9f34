//! Handler chain: processes one request from its head to its response.
//!
//! Input: a connection of a [`Listener`](watchkeeper_listen::Listener).
//! Output: the [`Handler`], for everything that the chain does not answer itself.
//!
//! Errors are reported in kube-apiserver's order: the path, authentication, impersonation, requests in flight,
//! authorization, then those of the handler.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::header::{ACCEPT, AUTHORIZATION, EXPECT, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use watchkeeper_core::{Health, Status};
use watchkeeper_listen::{Budget, Service, ServiceRequest, ServiceResponse, Switch};

use super::authenticate::{Authenticated, Authenticator, MASTERS, User};
use super::authorize::{AlwaysAllow, Authorizer, authorize_request};
use super::body::{BodyLimits, RequestBody};
use super::certificates::Subject;
use super::handler::{Handler, Request};
use super::health;
use super::hold::{NoRoom, hold};
use super::impersonate::impersonate;
use super::negotiate::Preferences;
use super::options::request_timeout;
use super::outgoing::Ends;
use super::query::Query;
use super::random::random_uid;
use super::request::{Target, TargetError};
use super::respond::{Outgoing, Response};
use super::slowdown::Slowdown;
use super::version::VersionInfo;

/// Limits on concurrent requests and on their duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// Maximum number of concurrent reads, not counting watches. Members of `system:masters` may exceed it.
    pub reads: usize,
    /// Maximum number of concurrent writes. Members of `system:masters` may exceed it.
    pub writes: usize,
    /// Maximum number of open watches and other long-running requests, for all users. kube-apiserver has no such limit.
    pub watches: usize,
    /// Maximum duration of a request that is not long-running; a request can ask for less.
    pub time: Duration,
    /// Limits on request bodies.
    pub body: BodyLimits,
}

impl RequestLimits {
    /// 400 reads, 200 writes and 60 s, as in kube-apiserver, and 20,000 watches.
    pub const DEFAULT: Self = Self {
        reads: 400,
        writes: 200,
        watches: 20_000,
        time: Duration::from_secs(60),
        body: BodyLimits::DEFAULT,
    };
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Parses, authenticates and authorizes requests, enforces limits, and calls the handler.
pub struct HandlerChain<H> {
    handler: H,
    authenticator: Authenticator,
    authorizer: Arc<dyn Authorizer>,
    health: Health,
    version: VersionInfo,
    limits: RequestLimits,
    reads: Arc<Semaphore>,
    writes: Arc<Semaphore>,
    slowdown: Slowdown,
    watches: Arc<Semaphore>,
}

/// A request before authentication, without its head.
struct Received {
    query: Query,
    preferences: Preferences,
    body: RequestBody,
    peer: Option<Arc<Subject>>,
    remote: SocketAddr,
    stop: CancellationToken,
    connection: CancellationToken,
    switch: Switch,
    budget: Budget,
}

impl<H: Handler> Service for HandlerChain<H> {
    type Peer = Subject;
    type Body = Outgoing;

    fn peer(&self, certificate: &[u8]) -> Option<Subject> {
        Subject::read(certificate)
    }

    async fn call(&self, request: ServiceRequest<Subject>) -> ServiceResponse<Outgoing> {
        self.process(request).await
    }
}

impl<H: Handler> HandlerChain<H> {
    /// Creates a chain with default health checks, version and limits.
    pub fn new(handler: H, authenticator: Authenticator) -> Self {
        Self {
            handler,
            authenticator,
            authorizer: Arc::new(AlwaysAllow),
            health: Health::default(),
            version: VersionInfo::default(),
            limits: RequestLimits::DEFAULT,
            reads: Arc::new(Semaphore::new(RequestLimits::DEFAULT.reads)),
            writes: Arc::new(Semaphore::new(RequestLimits::DEFAULT.writes)),
            slowdown: Slowdown::default(),
            watches: Arc::new(Semaphore::new(RequestLimits::DEFAULT.watches)),
        }
    }

    /// Sets the authorizer; the default is [`AlwaysAllow`].
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = authorizer;
        self
    }

    /// Sets the checks of `/livez`, `/readyz` and `/healthz`; the default is only `ping`.
    #[must_use]
    pub fn health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// Sets the response of `/version`; the default is the Kubernetes version of the tables.
    #[must_use]
    pub fn version(mut self, version: VersionInfo) -> Self {
        self.version = version;
        self
    }

    /// Sets the limits; the default is [`RequestLimits::DEFAULT`].
    #[must_use]
    pub fn limits(mut self, limits: RequestLimits) -> Self {
        let permits = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        (self.reads, self.writes) = (permits(limits.reads), permits(limits.writes));
        self.watches = permits(limits.watches);
        self.limits = limits;
        self
    }

    /// Serves one request. Dropping the future also drops that of the handler.
    pub(crate) async fn process<B>(&self, arrival: ServiceRequest<Subject, B>) -> ServiceResponse<Outgoing>
    where
        B: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
            + Send
            + 'static,
    {
        let ServiceRequest { request, peer, remote, stop, connection, switch, budget } = arrival;
        let (head, body) = request.into_parts();
        let query = Query::parse(head.uri.query().unwrap_or_default());
        let preferences = Preferences::read(&head.headers, &query);
        let audit_id = audit_id(&head.headers);
        let body = RequestBody::new(body, self.limits.body).awaits_continue(expects_continue(&head.headers));
        let unread = body.unread();
        let mut ends = Ends { permit: None, stop: Some(stop.clone()), budget: budget.clone() };
        let reads = matches!(head.method, Method::GET | Method::HEAD);
        let received = Received {
            query,
            preferences: preferences.clone(),
            body,
            peer,
            remote,
            stop,
            connection,
            switch,
            budget: budget.clone(),
        };
        let outcome = self.authenticate(head, received, &mut ends);
        // A panic fails only the request that caused it.
        let (outcome, hang_up) = AssertUnwindSafe(outcome).catch_unwind().await.unwrap_or_else(|_| {
            (Err(Status::internal_error("this request caused the server to panic")), false)
        });
        unread.discard().await;
        let mut response = outcome.unwrap_or_else(|status| Response::status(&status, &preferences));
        let charge = match hold(&budget, response.held_bytes()).await {
            Ok(charge) => charge,
            Err(NoRoom) if reads => {
                response = too_many_requests();
                None
            }
            Err(NoRoom) => Some(budget.charge_now(response.held_bytes())), // the write has happened, and must be reported
        };
        ServiceResponse { response: response.into_http(audit_id, preferences.gzip, ends), hang_up, charge }
    }

    /// Parses and authenticates a request, and passes it on. Also returns whether to close the connection.
    async fn authenticate(
        &self,
        head: Parts,
        received: Received,
        ends: &mut Ends,
    ) -> (Result<Response, Status>, bool) {
        let Received { query, preferences, body, peer, remote, stop, connection, switch, budget } = received;
        // A method that is not allowed is reported only to authenticated users.
        let target = match Target::read(&head.method, head.uri.path(), &query) {
            Ok(target) => Ok(target),
            Err(TargetError::Method(status)) => Err(status),
            Err(error @ TargetError::Incomplete { .. }) => {
                let response = Response::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n"));
                return (Ok(response), false);
            }
            Err(error) => return (Ok(Response::text(StatusCode::BAD_REQUEST, error.to_string())), true),
        };
        // As in kube-apiserver, the timeout is parsed on every path before authentication.
        let is_long_running = target.as_ref().is_ok_and(Target::is_long_running);
        let time = match request_timeout(&query, self.limits.time) {
            _ if is_long_running => self.limits.time,
            Ok(time) => time,
            Err(status) => return (Err(status), false),
        };
        let path = if let Ok(Target::Path(path)) = &target { path.as_str() } else { "" };
        let authenticated = self.authenticator.authenticate(peer.as_deref(), &head.headers, path).await;
        let Authenticated { user, warnings } = match authenticated {
            Ok(authenticated) => authenticated,
            Err(status) => {
                self.delay_refusal(&head.headers, remote, &stop).await;
                return (Err(*status), true);
            }
        };
        let hang_up = user.is_anonymous();
        let target = match target {
            Ok(target) => target,
            Err(status) => return (Err(*status), hang_up),
        };
        let mut headers = head.headers;
        headers.remove(AUTHORIZATION);
        let user = match impersonate(&*self.authorizer, user, &mut headers).await {
            Ok(user) => user,
            Err(status) => return (Err(status), hang_up),
        };
        let request = Request {
            target,
            method: head.method,
            uri: head.uri.to_string(),
            query,
            headers,
            extensions: head.extensions,
            preferences,
            user,
            body,
            stop,
            connection,
            switch,
            budget,
        };
        let outcome = self.serve(request, time, ends).await;
        (outcome.map(|response| response.with_warnings(&warnings)), hang_up)
    }

    /// Delays the response to a wrong token: see [`Slowdown`].
    async fn delay_refusal(&self, headers: &HeaderMap, remote: SocketAddr, stop: &CancellationToken) {
        if headers.contains_key(AUTHORIZATION) {
            stop.run_until_cancelled(self.slowdown.wait(remote.ip())).await;
        }
    }

    async fn serve(&self, request: Request, time: Duration, ends: &mut Ends) -> Result<Response, Status> {
        if let Target::Path(path) = &request.target
            && let Some(answer) = self.serve_own_path(path, &request)
        {
            self.authorize(&request).await?;
            return answer;
        }
        if request.target.is_long_running() {
            let Ok(permit) = self.watches.clone().try_acquire_owned() else { return Ok(too_many_requests()) };
            ends.permit = Some(permit);
            self.authorize(&request).await?;
            return self.handler.handle(request).await;
        }
        match self.permit(&request.target, &request.method, &request.user) {
            Ok(permit) => ends.permit = permit,
            Err(response) => return Ok(*response),
        }
        let served = async {
            self.authorize(&request).await?;
            self.handler.handle(request).await
        };
        match tokio::time::timeout(time, served).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let message = "request did not complete within the allotted timeout";
                Err(Status::timeout(message, Duration::ZERO))
            }
        }
    }

    /// Returns 403 unless the user may make the request.
    fn authorize(&self, request: &Request) -> impl Future<Output = Result<(), Status>> + Send {
        authorize_request(&*self.authorizer, &request.user, &request.method, &request.target)
    }

    /// Returns the response to a path that the chain serves itself.
    fn serve_own_path(&self, path: &str, request: &Request) -> Option<Result<Response, Status>> {
        if matches!(path, "/version" | "/version/") {
            let accept =
                request.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
            let checked = VersionInfo::check(&request.method, accept);
            return Some(checked.map(|()| Response::raw_json(StatusCode::OK, &self.version)));
        }
        health::answer(&self.health, path, &request.query).map(Ok)
    }

    /// Acquires a permit to be in flight. Members of `system:masters` need none.
    fn permit(
        &self,
        target: &Target,
        method: &Method,
        user: &User,
    ) -> Result<Option<OwnedSemaphorePermit>, Box<Response>> {
        let writes = match target {
            Target::Resource(request) => request.access.writes(),
            Target::Path(_) => !matches!(*method, Method::GET | Method::HEAD),
        };
        let permits = if writes { &self.writes } else { &self.reads };
        match permits.clone().try_acquire_owned() {
            Ok(permit) => Ok(Some(permit)),
            Err(_) if user.is_in(MASTERS) => Ok(None),
            Err(_) => Err(Box::new(too_many_requests())),
        }
    }
}

/// Returns the audit ID of the client, or a new one.
fn audit_id(headers: &HeaderMap) -> HeaderValue {
    headers.get("audit-id").cloned().unwrap_or_else(|| {
        let id = random_uid().ok().and_then(|id| id.parse().ok());
        id.unwrap_or(HeaderValue::from_static("00000000-0000-4000-8000-000000000000"))
    })
}

fn expects_continue(headers: &HeaderMap) -> bool {
    headers.get(EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Returns 429 in kube-apiserver's words.
fn too_many_requests() -> Response {
    let text = "Too many requests, please try again later.\n";
    let response = Response::text(StatusCode::TOO_MANY_REQUESTS, text);
    response.with_header(RETRY_AFTER, HeaderValue::from_static("1"))
}
