//! Handler: the boundary between HTTP and the API machinery.

use std::future::Future;

use http::{Extensions, HeaderMap, Method};
use tokio_util::sync::CancellationToken;
use watchkeeper_core::Status;
use watchkeeper_listen::{Budget, Switch};

use super::authenticate::User;
use super::body::RequestBody;
use super::negotiate::Preferences;
use super::query::Query;
use super::request::Target;
use super::respond::Response;

/// An authenticated request.
#[derive(Debug)]
#[non_exhaustive]
pub struct Request {
    /// The resource or path.
    pub target: Target,
    /// The method.
    pub method: Method,
    /// The path and query as sent, for messages and for proxies.
    pub uri: String,
    /// The query parameters.
    pub query: Query,
    /// The headers, without `Authorization`.
    pub headers: HeaderMap,
    /// The preferred encoding of the response.
    pub preferences: Preferences,
    /// Extensions from hyper: `hyper::upgrade::OnUpgrade`, for a connection that switches protocols.
    pub extensions: Extensions,
    /// The authenticated or impersonated user.
    pub user: User,
    /// The unread body.
    pub body: RequestBody,
    /// Cancelled when the server stops. Streaming responses are then ended by the handler chain; a handler needs this
    /// only to finish them properly.
    pub stop: CancellationToken,
    /// Cancelling it closes the connection and all streams on it.
    pub connection: CancellationToken,
    /// Takes over the connection after a 101 response.
    pub switch: Switch,
    /// The budget for response bytes that the client has not read.
    pub budget: Budget,
}

/// Serves requests: the API machinery.
///
/// The handler chain has parsed and authenticated the request, and serves `/livez`, `/readyz`, `/healthz` and
/// `/version` itself. Everything else arrives here; the response for unknown paths is [`Response::page_not_found`].
pub trait Handler: Send + Sync + 'static {
    /// Serves a request. The future is dropped when the client disconnects, when the request times out, or when the
    /// server stops without waiting.
    ///
    /// # Errors
    /// A returned status is encoded as the client prefers.
    fn handle(&self, request: Request) -> impl Future<Output = Result<Response, Status>> + Send;
}

impl<H: Handler> Handler for std::sync::Arc<H> {
    fn handle(&self, request: Request) -> impl Future<Output = Result<Response, Status>> + Send {
        H::handle(self, request)
    }
}
