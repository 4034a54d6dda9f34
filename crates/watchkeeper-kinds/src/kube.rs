//! A kube-rs client over our transport, with our credentials and connections.
//!
//! Input: a [`Client`].
//! Output: a [`kube_client::Client`], for kube-rs's `Api`, `watcher`, `reflector` and `Controller`.
//!
//! - `kube.A1`: request and response bodies are streamed.
//! - `kube.A2`: an upgrade request (`exec`, `attach`, `portforward`) gets its own HTTP/1.1 connection, which kube-rs
//!   takes over from the response. All other requests share connections.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::UPGRADE;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use tower_service::Service;
use watchkeeper_client::transport::{Body, BodyError, Transport, TransportError};

use crate::Client;

/// Creates a kube-rs client with the server, credentials, connections and default namespace of `client`. As every
/// kube-rs client, it must be created within a Tokio runtime.
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
/// kube-rs's `Config`, timeouts and retries do not apply.
pub fn kube_client(client: &Client) -> kube_client::Client {
    let service = TransportService { transport: client.transport().clone() };
    kube_client::Client::new(service, client.default_namespace())
}

/// A tower service over our transport.
struct TransportService {
    transport: Transport,
}

impl Service<Request<kube_client::client::Body>> for TransportService {
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
            let request = Request::from_parts(head, convert_body(body).await);
            if request.headers().contains_key(UPGRADE) {
                // kube.A2
                transport.send_on_new_connection(request).await
            } else {
                transport.send(request).await
            }
        })
    }
}

/// Converts a request body. One in memory stays there, so that it can be retried on another connection; others are
/// streamed (`kube.A1`).
async fn convert_body(body: kube_client::client::Body) -> Body {
    let request_error = |error: kube_client::Error| BodyError::Request(error.into());
    match body.try_clone() {
        None => Body::stream(body.map_err(request_error)),
        Some(whole) => match whole.collect_bytes().await {
            Ok(bytes) if bytes.is_empty() => Body::empty(),
            Ok(bytes) => Body::from(bytes),
            Err(_) => Body::stream(body.map_err(request_error)),
        },
    }
}
