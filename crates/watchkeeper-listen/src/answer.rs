//! Answer: what is done with a request once its head has been read.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;

use crate::budget::{Budget, Charge};
use crate::switch::Switch;

/// Answers the requests of a listener.
pub trait Answer: Send + Sync + 'static {
    /// Whom a client's certificate names.
    type Peer: Send + Sync + 'static;
    /// What answers consist of.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static;

    /// Reads a client's certificate, which has been verified; `None` where it names nobody.
    fn peer(&self, certificate: &[u8]) -> Option<Self::Peer>;

    /// Answers one request. It is dropped when the client goes away, or when the server stops and will not wait.
    fn answer(&self, arrival: Arrival<Self::Peer>) -> impl Future<Output = Departure<Self::Body>> + Send;
}

/// A request as it comes from a connection.
#[derive(Debug)]
pub struct Arrival<P, B = Incoming> {
    /// What is asked for.
    pub request: http::Request<B>,
    /// Whom the certificate of the connection names.
    pub peer: Option<Arc<P>>,
    /// Where the connection comes from.
    pub remote: SocketAddr,
    /// Cancelled when the server stops.
    pub stop: CancellationToken,
    /// Cuts off the connection.
    pub connection: CancellationToken,
    /// What the connection does when it speaks something else.
    pub switch: Switch,
    /// The bytes that responses of this connection may hold unread. What the body returns is charged by the
    /// listener; a handler charges what it holds besides.
    pub budget: Budget,
}

/// An answer.
#[derive(Debug)]
pub struct Departure<B> {
    /// What is said.
    pub response: http::Response<B>,
    /// Whether the connection is to be closed after it.
    pub hang_up: bool,
    /// What the handler has charged for a body that is complete. Without it the body waits for the budget before it
    /// is asked for anything.
    pub charge: Option<Charge>,
}
