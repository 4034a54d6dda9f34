//! Service: handles a request once its head has been read.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;

use crate::budget::{Budget, Charge};
use crate::switch::Switch;

/// Handles the requests of a [`Listener`](crate::Listener).
pub trait Service: Send + Sync + 'static {
    /// Identity in a client certificate.
    type Peer: Send + Sync + 'static;
    /// Body of a response.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static;

    /// Reads the identity from a verified client certificate, in DER; `None` if it has none.
    fn peer(&self, certificate: &[u8]) -> Option<Self::Peer>;

    /// Handles one request. The future is dropped when the client disconnects, or when the drain of a stopping server
    /// times out.
    fn call(
        &self,
        request: ServiceRequest<Self::Peer>,
    ) -> impl Future<Output = ServiceResponse<Self::Body>> + Send;
}

/// A request, and the connection it arrived on.
#[derive(Debug)]
pub struct ServiceRequest<P, B = Incoming> {
    /// The request.
    pub request: http::Request<B>,
    /// Identity in the client certificate of the connection.
    pub peer: Option<Arc<P>>,
    /// Address of the client.
    pub remote: SocketAddr,
    /// Cancelled when the server stops.
    pub stop: CancellationToken,
    /// Cancel it to close the connection at once.
    pub connection: CancellationToken,
    /// Takes over the connection after a 101 response.
    pub switch: Switch,
    /// Unread bytes that responses of this connection may hold. The listener charges what the response body returns;
    /// a service charges what it holds besides.
    pub budget: Budget,
}

/// A response, and what to do with its connection.
#[derive(Debug)]
pub struct ServiceResponse<B> {
    /// The response.
    pub response: http::Response<B>,
    /// Whether to close the connection after it.
    pub hang_up: bool,
    /// The charge for a body that is complete. Without it the listener polls the body only while the budget is not
    /// used up.
    pub charge: Option<Charge>,
}
