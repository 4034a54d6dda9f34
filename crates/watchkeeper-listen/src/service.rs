//! Service: handles a request once its head has been read.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use http_body::Body;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;

use crate::budget::{Budget, Charge};
use crate::switch::Switch;

/// The error of a body.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The error of a body of any type. Not a [`BoxError`]: with its lifetime the compiler cannot prove that the future of a
/// connection is `Send`.
#[derive(Debug, thiserror::Error)]
#[error("response body failed")]
pub(crate) struct BodyError(#[source] BoxError);

/// A body of any type.
pub(crate) type AnyBody = UnsyncBoxBody<Bytes, BodyError>;

/// Handles the requests of one connection. `peer` of the request is ignored: the handler knows its client.
pub(crate) type Handler =
    Arc<dyn Fn(ServiceRequest<()>) -> BoxFuture<'static, ServiceResponse<AnyBody>> + Send + Sync>;

/// Handles the requests of a [`Listener`](crate::Listener).
pub trait Service: Send + Sync + 'static {
    /// Identity in a client certificate.
    type Peer: Send + Sync + 'static;
    /// Body of a response.
    type Body: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static;

    /// Reads the identity from a verified client certificate, in DER; `None` if it has none.
    fn peer(&self, certificate: &[u8]) -> Option<Self::Peer>;

    /// Handles one request. The future is dropped when the client disconnects, or when the drain of a stopping server
    /// times out.
    fn call(
        &self,
        request: ServiceRequest<Self::Peer>,
    ) -> impl Future<Output = ServiceResponse<Self::Body>> + Send;
}

/// A [`Service`] of any type. Everything between the socket and the service is compiled once, in this crate, instead of
/// in each crate that has a service.
pub(crate) trait AnyService: Send + Sync {
    /// Returns the handler for a client with this verified certificate.
    fn handler(self: Arc<Self>, certificate: Option<&[u8]>) -> Handler;
}

impl<S: Service> AnyService for S {
    fn handler(self: Arc<Self>, certificate: Option<&[u8]>) -> Handler {
        let peer = certificate.and_then(|certificate| self.peer(certificate)).map(Arc::new);
        Arc::new(move |request| {
            let (service, peer) = (self.clone(), peer.clone());
            let ServiceRequest { request, peer: _, remote, stop, connection, switch, budget } = request;
            let request = ServiceRequest { request, peer, remote, stop, connection, switch, budget };
            Box::pin(async move {
                let ServiceResponse { response, hang_up, charge } = service.call(request).await;
                let response =
                    response.map(|body| body.map_err(|error| BodyError(error.into())).boxed_unsync());
                ServiceResponse { response, hang_up, charge }
            })
        })
    }
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
