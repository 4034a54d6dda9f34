//! Proxy: the API server, by way of the service.
//!
//! From: a request below one of [`PATHS`].
//! To:   the API server, and back, both ways as it comes.
//!
//! - P1: only what reads goes through, unless [`Opening`] says otherwise: neither what writes, nor what opens a
//!   connection to a pod or a node.
//! - P2: whoever brings a token acts by it, and by nothing of ours: neither our token nor our certificate is on that
//!   connection. Whoever brings none acts by ours, and cannot say that they are somebody else.
//! - P3: what is between two parties on a connection stays there (RFC 9110, 7.6.1), and so do cookies.
//! - P4: what is wrong is said as an API server says it, so that its clients can show it.
//! - P5: Secrets and the tokens of service accounts pass only with [`Opening::secrets`], by whatever method and however
//!   the path is written.

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

/// What is the API server's.
pub const PATHS: [&str; 4] = ["/api", "/apis", "/version", "/openapi"];

/// What the proxy lets through besides reads (P1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Opening {
    /// What writes: `--proxy-writes`.
    pub writes: bool,
    /// What opens a connection to a pod or a node, or changes the protocol: `--proxy-upgrades`.
    pub upgrades: bool,
    /// Secrets, and tokens of service accounts: `--proxy-secrets`.
    pub secrets: bool,
}

/// Sends requests on to the API server.
#[derive(Debug)]
pub(crate) struct Proxy {
    /// With our credentials.
    ours: Transport,
    /// With none (P2).
    theirs: Transport,
    opening: Opening,
}

impl Proxy {
    pub(crate) fn new(client: &Client, opening: Opening) -> Result<Self, BuildError> {
        let ours = client.transport().clone();
        Ok(Self { theirs: ours.anonymous()?, ours, opening })
    }

    /// Whether a path is the API server's.
    pub(crate) fn serves(path: &str) -> bool {
        let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        PATHS.iter().any(|prefix| path.strip_prefix(prefix).is_some_and(below))
    }

    /// Sends a request on. Dropped half-way, it is cancelled there too; and so it is if what it answers is dropped.
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
            None => return Err(Box::new(Status::unauthorized("nobody has asked who you are"))),
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
                return Err(Box::new(Status::bad_request("only connections of HTTP/1.1 can be upgraded")));
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

    /// P1, P5.
    fn check(&self, method: &Method, asked: &Asked, upgrade: bool) -> Result<(), Box<Status>> {
        let Opening { writes, upgrades, secrets } = self.opening;
        if asked.secret && !secrets {
            return Err(refusal(
                "reads or writes Secrets, or requests tokens of service accounts",
                "--proxy-secrets",
            ));
        }
        if (upgrade || asked.connects) && !upgrades {
            return Err(refusal(
                "opens connections to pods and nodes, or upgrades its own",
                "--proxy-upgrades",
            ));
        }
        // A program in a pod is asked for by POST, too; what is sent through it is no object.
        let reads = matches!(*method, Method::GET | Method::HEAD) || upgrade && *method == Method::POST;
        if !reads && !writes {
            return Err(refusal("writes", "--proxy-writes"));
        }
        Ok(())
    }
}

/// An answer on its way back.
fn back(response: http::Response<ClientBody>) -> Response {
    let (mut head, body) = response.into_parts();
    headers::remove_hops(&mut head.headers);
    head.version = Version::HTTP_11;
    Response::from_parts(head, Body::new(body))
}

/// Asks for another protocol; if the API server agrees, both ends are joined.
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

/// Copies both ways until both have ended; where one ends, the other is told.
async fn join(client: OnUpgrade, mut server: Upgraded) {
    let Ok(client) = client.await else { return };
    if let Err(error) = copy_bidirectional(&mut TokioIo::new(client), &mut server).await {
        tracing::debug!(%error, "an upgraded connection broke off");
    }
}
