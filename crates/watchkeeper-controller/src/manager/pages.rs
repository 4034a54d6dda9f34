//! Pages: health and metrics over HTTP.
//!
//! Serves `/healthz`, `/livez` and `/readyz` (see [`Health`]) with `?verbose` and `?exclude=`, and
//! `/metrics`. At most [`CONNECTIONS`] connections are served at once, more wait; an idle one is closed after
//! [`IDLE_TIMEOUT`].

use std::convert::Infallible;
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use watchkeeper_core::Health;
use watchkeeper_metrics::Registry;

use super::shutdown::ManagerError;

const CONNECTIONS: usize = 64;
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause when `accept` fails, usually for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A bound port that does not accept connections yet.
#[derive(Debug)]
pub(super) struct Pages {
    socket: TcpListener,
    address: SocketAddr,
}

/// The content served.
struct Content {
    health: Health,
    registry: Option<Registry>,
}

impl Pages {
    pub(super) fn bind(address: SocketAddr) -> Result<Self, ManagerError> {
        let bound = || {
            let socket = TcpListener::bind(address)?;
            socket.set_nonblocking(true)?;
            let address = socket.local_addr()?;
            Ok(Self { socket, address })
        };
        bound().map_err(|source| ManagerError::Listen { address, source })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is cancelled, and returns after the last response. Dropping the future closes all
    /// connections.
    pub(super) fn run(
        self,
        health: Health,
        registry: Option<Registry>,
        stop: CancellationToken,
    ) -> Result<impl Future<Output = ()> + Send + use<>, ManagerError> {
        let address = self.address;
        let socket = tokio::net::TcpListener::from_std(self.socket)
            .map_err(|source| ManagerError::Listen { address, source })?;
        let content = Arc::new(Content { health, registry });
        Ok(async move {
            let permits = Arc::new(Semaphore::new(CONNECTIONS));
            let mut connections = JoinSet::new();
            let accepting = async {
                loop {
                    while connections.try_join_next().is_some() {}
                    let Ok(permit) = permits.clone().acquire_owned().await else { return }; // never closed
                    let Ok((stream, _)) = socket.accept().await else {
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                        continue;
                    };
                    let (content, stop) = (content.clone(), stop.clone());
                    connections.spawn(async move {
                        serve(stream, content, stop).await;
                        drop(permit);
                    });
                }
            };
            stop.run_until_cancelled(accepting).await;
            drop(socket);
            while connections.join_next().await.is_some() {}
        })
    }
}

async fn serve(stream: TcpStream, content: Arc<Content>, stop: CancellationToken) {
    let service = service_fn(move |request: Request<Incoming>| {
        let response = content.respond(request.method(), request.uri());
        async move { Ok::<_, Infallible>(response) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // Connection errors are the client's business.
    let ended = tokio::select! {
        _ = &mut connection => true,
        () = stop.cancelled() => false,
    };
    if !ended {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

impl Content {
    fn respond(&self, method: &Method, uri: &http::Uri) -> Response<Full<Bytes>> {
        if method != Method::GET && method != Method::HEAD {
            let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n".to_owned());
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refused;
        }
        if let ("/metrics", Some(registry)) = (uri.path(), &self.registry) {
            let mut page = text(StatusCode::OK, registry.render());
            page.headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static(watchkeeper_metrics::CONTENT_TYPE));
            return page;
        }
        let parameters = || uri.query().unwrap_or_default().split('&');
        let excluded: Vec<&str> = parameters().filter_map(|pair| pair.strip_prefix("exclude=")).collect();
        let verbose = parameters().any(|pair| pair.split('=').next() == Some("verbose"));
        match self.health.answer(uri.path(), &excluded, verbose) {
            Some(answer) if answer.is_healthy => text(StatusCode::OK, answer.text),
            Some(answer) => text(StatusCode::INTERNAL_SERVER_ERROR, answer.text),
            None => text(StatusCode::NOT_FOUND, "404 page not found\n".to_owned()),
        }
    }
}

fn text(code: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
