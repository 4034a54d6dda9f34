//! kube-rs over our transport: what is written for kube-rs runs on with our credentials and connections.
//!
//! From: a [`Client`].
//! To:   a [`kube_client::Client`], for kube-rs's `Api`, `watcher`, `reflector` and `Controller`.
//!
//! - A1: bodies are not collected on the way, neither to the server nor back.
//! - A2: a request that asks for another protocol (`exec`, `attach`, `portforward`) gets an HTTP/1.1 connection
//!   of its own, and kube-rs finds that connection in the answer. All others share connections.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::UPGRADE;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use tower_service::Service;
use watchkeeper_client::transport::{Body, BodyError, Transport, TransportError};

use crate::Client;

/// A kube-rs client that goes to the same server in the same name over the same connections, and has the same
/// namespace by default. It must be made within a Tokio runtime, as every kube-rs client.
///
/// ```no_run
/// # async fn example(client: watchkeeper_client::Client) -> Result<(), kube_client::Error> {
/// use kube_client::Api;
/// use watchkeeper_kinds::k8s_openapi::api::core::v1::Pod;
///
/// let kube = watchkeeper_kinds::kube_client(&client);
/// let pods: Api<Pod> = Api::default_namespaced(kube);
/// for pod in pods.list(&Default::default()).await? {
///     println!("{}", pod.metadata.name.unwrap_or_default());
/// }
/// # Ok(())
/// # }
/// ```
///
/// Of kube-rs's own configuration nothing counts: no timeouts, no retries of its own, no `Config`.
pub fn kube_client(client: &Client) -> kube_client::Client {
    let service = OverTransport { transport: client.transport().clone() };
    kube_client::Client::new(service, client.default_namespace())
}

/// The transport as kube-rs wants it.
struct OverTransport {
    transport: Transport,
}

impl Service<Request<kube_client::client::Body>> for OverTransport {
    type Response = Response<Body>;
    type Error = TransportError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, TransportError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube_client::client::Body>) -> Self::Future {
        let transport = self.transport.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let request = Request::from_parts(head, sent(body).await);
            if request.headers().contains_key(UPGRADE) {
                // A2
                transport.send_alone(request).await
            } else {
                transport.send(request).await
            }
        })
    }
}

/// What is in memory stays there as it is, so that it can go over another connection if the first is lost
/// before anything was sent; all else is streamed (A1).
async fn sent(body: kube_client::client::Body) -> Body {
    let refused = |error: kube_client::Error| BodyError::Request(error.into());
    match body.try_clone() {
        None => Body::stream(body.map_err(refused)),
        Some(whole) => match whole.collect_bytes().await {
            Ok(bytes) if bytes.is_empty() => Body::empty(),
            Ok(bytes) => Body::from(bytes),
            Err(_) => Body::stream(body.map_err(refused)),
        },
    }
}
