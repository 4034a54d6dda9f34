//! Handler: where the HTTP front ends and the API machinery begins.

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

/// A request that has been read and whose user is known.
#[derive(Debug)]
#[non_exhaustive]
pub struct Request {
    /// What it is for.
    pub target: Target,
    /// Its method.
    pub method: Method,
    /// Its path as it was sent, with the query: for messages and for proxies.
    pub uri: String,
    /// Its parameters.
    pub query: Query,
    /// Its headers, without `Authorization`.
    pub headers: HeaderMap,
    /// What its answer should look like.
    pub preferences: Preferences,
    /// What hyper adds: `hyper::upgrade::OnUpgrade`, for a connection that is to speak something else.
    pub extensions: Extensions,
    /// Who asks.
    pub user: User,
    /// What it carries.
    pub body: RequestBody,
    /// Cancelled when the server stops. Answers that stream are ended by the front then; a handler needs
    /// this only to say goodbye.
    pub stop: CancellationToken,
    /// Cancelling it cuts off the connection, with all that is on it.
    pub connection: CancellationToken,
    /// What the connection does after an answer of 101.
    pub switch: Switch,
    /// The bytes that responses of this connection may hold unread.
    pub budget: Budget,
}

/// Answers requests: the API machinery.
///
/// The front has read the request, knows who asks, and has answered `/livez`, `/readyz`, `/healthz` and
/// `/version` itself. Everything else comes here, and what nobody serves is answered by
/// [`Response::page_not_found`].
pub trait Handler: Send + Sync + 'static {
    /// Answers a request. It is dropped when the client goes away, when the request takes too long, or
    /// when the server stops and will not wait.
    ///
    /// # Errors
    /// A status is written as the client likes it; it is no trouble for the server.
    fn handle(&self, request: Request) -> impl Future<Output = Result<Response, Status>> + Send;
}

impl<H: Handler> Handler for std::sync::Arc<H> {
    fn handle(&self, request: Request) -> impl Future<Output = Result<Response, Status>> + Send {
        H::handle(self, request)
    }
}
