//! Proxy to the API server.
//!
//! Input: a request below one of [`PATHS`].
//! Output: the same request to the API server, and its response; both are streamed.
//!
//! Invariants:
//! - `proxy.P1`: only reads are forwarded unless [`Opening`] allows more: no writes, and no connections to pods or nodes.
//! - `proxy.P2`: a request with a token is sent with that token only; neither the service's token nor its certificate is
//!   used on that connection. A request without one is sent with the service's credentials, and cannot impersonate.
//! - `proxy.P3`: hop-by-hop headers are not forwarded (RFC 9110, 7.6.1), nor are cookies.
//! - `proxy.P4`: errors have the API server's format, so that its clients can show them.
//! - `proxy.P5`: Secrets and service account tokens are forwarded only with [`Opening::secrets`], for any method and any
//!   spelling of the path.

mod headers;
mod passing;
mod path;
mod status;

use axum::body::Body;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode, Uri, Version};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use watchkeeper_client::transport::{Body as ClientBody, BuildError, Upgrade, Upgraded};
use watchkeeper_client::{Client, Transport};
use watchkeeper_core::Status;
use watchkeeper_listen::Switch;

use crate::access::Who;
use crate::guard::{announced, upgrades};
use crate::listen::Endless;
use passing::Passing;
use path::Asked;
use status::{answer, bad_gateway, refusal};

pub use passing::{BODY_BYTES, BODY_PATIENCE};

/// Path prefixes that belong to the API server.
pub const PATHS: [&str; 4] = ["/api", "/apis", "/version", "/openapi"];

/// Requests that the proxy forwards besides reads (`proxy.P1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Opening {
    /// Writes: `--proxy-writes`.
    pub writes: bool,
    /// Connections to pods and nodes, and protocol upgrades: `--proxy-upgrades`.
    pub upgrades: bool,
    /// Secrets and service account tokens: `--proxy-secrets`.
    pub secrets: bool,
}

/// Forwards requests to the API server.
#[derive(Debug)]
pub(crate) struct Proxy {
    /// Sends with the service's credentials.
    ours: Transport,
    /// Sends without credentials (`proxy.P2`).
    theirs: Transport,
    opening: Opening,
}

impl Proxy {
    pub(crate) fn new(client: &Client, opening: Opening) -> Result<Self, BuildError> {
        let ours = client.transport().clone();
        Ok(Self { theirs: ours.anonymous()?, ours, opening })
    }

    /// Returns whether a path belongs to the API server.
    pub(crate) fn serves(path: &str) -> bool {
        let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        PATHS.iter().any(|prefix| path.strip_prefix(prefix).is_some_and(below))
    }

    /// Forwards a request. If this or the response is dropped, the request to the API server is cancelled.
    pub(crate) async fn answer(&self, head: Parts, body: Body) -> Response {
        self.pass(head, body).await.unwrap_or_else(|status| answer(&status))
    }

    async fn pass(&self, head: Parts, body: Body) -> Result<Response, Box<Status>> {
        let asked = Asked::read(head.uri.path(), head.uri.query().unwrap_or_default())?;
        let upgrade = upgrades(&head.headers);
        self.check(&head.method, &asked, upgrade)?;
        if announced(&head.headers).is_some_and(|length| length > BODY_BYTES as u64) {
            return Err(Box::new(Status::request_entity_too_large(format!("limit is {BODY_BYTES}"))));
        }
        let Parts { method, uri, headers, mut extensions, version, .. } = head;
        let user = match extensions.get::<Who>() {
            Some(Who::User(user)) => Some(user.token.clone()),
            Some(Who::Local) => None,
            None => return Err(Box::new(Status::unauthorized("request is not authenticated"))),
        };
        let mut request = Request::new(ClientBody::empty());
        *request.method_mut() = method;
        *request.uri_mut() = uri.path_and_query().cloned().map(Uri::from).unwrap_or_default();
        let (headers, own) = headers::onward(headers, user.as_ref());
        *request.headers_mut() = headers;
        let transport = if own { &self.theirs } else { &self.ours };
        if upgrade {
            let (switch, client) = (extensions.remove::<Switch>(), extensions.remove::<OnUpgrade>());
            let (Version::HTTP_11, Some(switch), Some(client)) = (version, switch, client) else {
                return Err(Box::new(Status::bad_request("upgrades require HTTP/1.1")));
            };
            return switch_over(transport, request, switch, client).await;
        }
        let passing = Passing::new(body);
        let overflow = passing.overflow();
        if let Some(passing) = passing.into_body() {
            *request.body_mut() = passing;
        }
        let answered = transport.forward(request).await;
        if overflow.happened() {
            return Err(Box::new(Status::request_entity_too_large(format!("limit is {BODY_BYTES}"))));
        }
        let mut response = back(answered.map_err(|error| bad_gateway(&error))?);
        if asked.endless {
            response.extensions_mut().insert(Endless);
        }
        Ok(response)
    }

    /// Checks the policy (`proxy.P1`, `proxy.P5`).
    fn check(&self, method: &Method, asked: &Asked, upgrade: bool) -> Result<(), Box<Status>> {
        let Opening { writes, upgrades, secrets } = self.opening;
        if asked.secret && !secrets {
            return Err(refusal(
                "Secrets and service account tokens",
                "--proxy-secrets",
            ));
        }
        if (upgrade || asked.connects) && !upgrades {
            return Err(refusal(
                "connections to pods and nodes, or protocol upgrades",
                "--proxy-upgrades",
            ));
        }
        // exec is also requested by POST, and does not write an object.
        let reads = matches!(*method, Method::GET | Method::HEAD) || upgrade && *method == Method::POST;
        if !reads && !writes {
            return Err(refusal("writes", "--proxy-writes"));
        }
        Ok(())
    }
}

/// Converts a response of the API server.
fn back(response: http::Response<ClientBody>) -> Response {
    let (mut head, body) = response.into_parts();
    headers::remove_hops(&mut head.headers);
    head.version = Version::HTTP_11;
    Response::from_parts(head, Body::new(body))
}

/// Requests an upgrade; if the API server accepts, connects both ends.
async fn switch_over(
    transport: &Transport,
    request: Request<ClientBody>,
    switch: Switch,
    client: OnUpgrade,
) -> Result<Response, Box<Status>> {
    let switched = match transport.upgrade(request).await.map_err(|error| bad_gateway(&error))? {
        Upgrade::Declined(response) => return Ok(back(response)),
        Upgrade::Switched(switched) => switched,
    };
    let (head, server) = switched.into_parts();
    let protocol = head.headers.get(http::header::UPGRADE).cloned();
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *response.headers_mut() = head.headers;
    headers::remove_hops(response.headers_mut());
    if let Some(protocol) = protocol {
        response.headers_mut().insert(http::header::UPGRADE, protocol);
        response.headers_mut().insert(http::header::CONNECTION, HeaderValue::from_static("Upgrade"));
    }
    switch.then(join(client, server));
    Ok(response)
}

/// Copies in both directions until both are closed; closing one end closes the other.
async fn join(client: OnUpgrade, mut server: Upgraded) {
    let Ok(client) = client.await else { return };
    if let Err(error) = copy_bidirectional(&mut TokioIo::new(client), &mut server).await {
        tracing::debug!(%error, "upgraded connection lost");
    }
}
