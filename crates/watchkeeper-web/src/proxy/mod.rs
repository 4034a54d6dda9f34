//! Proxy to the API server.
//!
//! Input: a request below one of [`PATHS`].
//! Output: the same request to the API server, and its response; both are streamed.
//!
//! Invariants:
//! - `proxy.P1`: only reads are forwarded unless [`ProxyPolicy`] allows more: no writes, and no connections to pods or
//!   nodes.
//! - `proxy.P2`: a request with a token is sent with that token only; neither the service's token nor its certificate
//!   is used on that connection. A request without one is sent with the service's credentials, and cannot impersonate.
//! - `proxy.P3`: hop-by-hop headers are not forwarded (RFC 9110, 7.6.1), nor are cookies.
//! - `proxy.P4`: errors have the API server's format, so that its clients can show them.
//! - `proxy.P5`: Secrets and service account tokens are forwarded only with [`ProxyPolicy::secrets`], for any method
//!   and any spelling of the path.

mod headers;
mod limited_body;
mod request_traits;
mod status;

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode, Uri, Version};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use tower_service::Service;
use watchkeeper_client::transport::{Body as ClientBody, BuildError, Upgrade, Upgraded};
use watchkeeper_client::{Client, Transport};
use watchkeeper_core::Status;
use watchkeeper_listen::Switch;

use crate::access::Identity;
use crate::guard::{Content, announced, protect, upgrades};
use crate::listen::StreamingResponse;
use limited_body::LimitedBody;
use request_traits::RequestTraits;
use status::{bad_gateway, forbidden, not_found, respond};

pub use limited_body::{BODY_BYTES, BODY_TIMEOUT};

/// Path prefixes that belong to the API server.
pub const PATHS: [&str; 4] = ["/api", "/apis", "/version", "/openapi"];

/// Requests that the proxy forwards besides reads (`proxy.P1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ProxyPolicy {
    /// Writes: `--proxy-writes`.
    pub writes: bool,
    /// Connections to pods and nodes, and protocol upgrades: `--proxy-upgrades`.
    pub upgrades: bool,
    /// Secrets and service account tokens: `--proxy-secrets`.
    pub secrets: bool,
}

impl ProxyPolicy {
    /// Allows writes.
    #[must_use]
    pub fn allow_writes(mut self) -> Self {
        self.writes = true;
        self
    }

    /// Allows connections to pods and nodes: exec, attach, port-forward, and other protocol upgrades.
    #[must_use]
    pub fn allow_upgrades(mut self) -> Self {
        self.upgrades = true;
        self
    }

    /// Allows requests for Secrets and service account tokens.
    #[must_use]
    pub fn allow_secrets(mut self) -> Self {
        self.secrets = true;
        self
    }
}

/// A proxy to the API server: a tower service for any axum router. Clones share their connections.
///
/// It serves [`PATHS`], also below a prefix that the router strips; anything else is 404. A request is forwarded
///
/// - with its own credentials, if it has an `Authorization` header or the extension [`Identity::User`];
/// - with the client's credentials, if it has the extension [`Identity::Local`];
/// - not at all otherwise: the response is 401.
///
/// Upgraded connections are copied in both directions by a task of their own, until both ends are closed.
///
/// Host and origin of requests are not checked here. A router that adds [`Identity::Local`] and is reachable by
/// browsers has to check them, as [`Server`](crate::Server) does.
///
/// ```no_run
/// use axum::{Extension, Router};
/// use watchkeeper_client::Client;
/// use watchkeeper_web::access::Identity;
/// use watchkeeper_web::proxy::{Proxy, ProxyPolicy};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let proxy = Proxy::new(&Client::infer()?, ProxyPolicy::default().allow_upgrades())?;
/// let app: Router = Router::new().nest_service("/cluster", proxy).layer(Extension(Identity::Local));
/// axum::serve(tokio::net::TcpListener::bind("127.0.0.1:3000").await?, app).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Proxy {
    /// Sends with the service's credentials.
    ours: Transport,
    /// Sends without credentials (`proxy.P2`).
    theirs: Transport,
    policy: ProxyPolicy,
}

impl Proxy {
    /// Creates a proxy to the server of a client.
    ///
    /// # Errors
    /// If a transport without the client's credentials cannot be built.
    pub fn new(client: &Client, policy: ProxyPolicy) -> Result<Self, BuildError> {
        let ours = client.transport().clone();
        Ok(Self { theirs: ours.anonymous()?, ours, policy })
    }

    /// Returns whether a path belongs to the API server.
    pub(crate) fn serves(path: &str) -> bool {
        let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        PATHS.iter().any(|prefix| path.strip_prefix(prefix).is_some_and(below))
    }

    /// Forwards a request. If this or the response is dropped, the request to the API server is cancelled.
    pub(crate) async fn respond(&self, head: Parts, body: Body) -> Response {
        self.forward(head, body).await.unwrap_or_else(|status| respond(&status))
    }

    async fn forward(&self, head: Parts, body: Body) -> Result<Response, Box<Status>> {
        if !Self::serves(head.uri.path()) {
            return Err(not_found(head.uri.path()));
        }
        let traits = RequestTraits::read(head.uri.path(), head.uri.query().unwrap_or_default())?;
        let upgrade = upgrades(&head.headers);
        self.check(&head.method, &traits, upgrade)?;
        if announced(&head.headers).is_some_and(|length| length > BODY_BYTES as u64) {
            return Err(Box::new(Status::request_entity_too_large(format!("limit is {BODY_BYTES}"))));
        }
        let Parts { method, uri, headers, mut extensions, version, .. } = head;
        let user = match extensions.get::<Identity>() {
            Some(Identity::User(user)) => Some(user.token.clone()),
            Some(Identity::Local) => None,
            None if headers.contains_key(AUTHORIZATION) => None,
            None => return Err(Box::new(Status::unauthorized("request is not authenticated"))),
        };
        let mut request = Request::new(ClientBody::empty());
        *request.method_mut() = method;
        *request.uri_mut() = uri.path_and_query().cloned().map(Uri::from).unwrap_or_default();
        let (headers, own) = headers::forwarded(headers, user.as_ref());
        *request.headers_mut() = headers;
        let transport = if own { &self.theirs } else { &self.ours };
        if upgrade {
            let (switch, client) = (extensions.remove::<Switch>(), extensions.remove::<OnUpgrade>());
            let (Version::HTTP_11, Some(client)) = (version, client) else {
                return Err(Box::new(Status::bad_request("upgrades require HTTP/1.1")));
            };
            return upgrade_connection(transport, request, switch, client).await;
        }
        let body = LimitedBody::new(body);
        let overflow = body.overflow();
        if let Some(body) = body.into_body() {
            *request.body_mut() = body;
        }
        let answered = transport.forward(request).await;
        if overflow.happened() {
            return Err(Box::new(Status::request_entity_too_large(format!("limit is {BODY_BYTES}"))));
        }
        let mut response = convert_response(answered.map_err(|error| bad_gateway(&error))?);
        if traits.is_stream {
            response.extensions_mut().insert(StreamingResponse);
        }
        Ok(response)
    }

    /// Checks the policy (`proxy.P1`, `proxy.P5`).
    fn check(&self, method: &Method, traits: &RequestTraits, upgrade: bool) -> Result<(), Box<Status>> {
        let ProxyPolicy { writes, upgrades, secrets } = self.policy;
        if traits.secret && !secrets {
            return Err(forbidden("Secrets and service account tokens", "--proxy-secrets"));
        }
        if (upgrade || traits.connects) && !upgrades {
            return Err(forbidden("connections to pods and nodes, or protocol upgrades", "--proxy-upgrades"));
        }
        // exec is also requested by POST, and does not write an object.
        let reads = matches!(*method, Method::GET | Method::HEAD) || upgrade && *method == Method::POST;
        if !reads && !writes {
            return Err(forbidden("writes", "--proxy-writes"));
        }
        Ok(())
    }
}

impl Service<Request<Body>> for Proxy {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let proxy = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let mut response = proxy.respond(head, body).await;
            protect(response.headers_mut(), Content::Theirs);
            Ok(response)
        })
    }
}

/// Converts a response of the API server.
fn convert_response(response: http::Response<ClientBody>) -> Response {
    let (mut head, body) = response.into_parts();
    headers::remove_hop_by_hop(&mut head.headers);
    head.version = Version::HTTP_11;
    Response::from_parts(head, Body::new(body))
}

/// Requests an upgrade; if the API server accepts, connects both ends.
async fn upgrade_connection(
    transport: &Transport,
    request: Request<ClientBody>,
    switch: Option<Switch>,
    client: OnUpgrade,
) -> Result<Response, Box<Status>> {
    let switched = match transport.upgrade(request).await.map_err(|error| bad_gateway(&error))? {
        Upgrade::Declined(response) => return Ok(convert_response(response)),
        Upgrade::Switched(switched) => switched,
    };
    let (head, server) = switched.into_parts();
    let protocol = head.headers.get(http::header::UPGRADE).cloned();
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *response.headers_mut() = head.headers;
    headers::remove_hop_by_hop(response.headers_mut());
    if let Some(protocol) = protocol {
        response.headers_mut().insert(http::header::UPGRADE, protocol);
        response.headers_mut().insert(http::header::CONNECTION, HeaderValue::from_static("Upgrade"));
    }
    match switch {
        Some(switch) => switch.then(join(client, server)), // under the limits of our own listener
        None => drop(tokio::spawn(join(client, server))),
    }
    Ok(response)
}

/// Copies in both directions until both are closed; closing one end closes the other.
async fn join(client: OnUpgrade, mut server: Upgraded) {
    let Ok(client) = client.await else { return };
    if let Err(error) = copy_bidirectional(&mut TokioIo::new(client), &mut server).await {
        tracing::debug!(%error, "upgraded connection lost");
    }
}
