//! Reverse proxy: an HTTP server in front of the real one that can inject error responses.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use watchkeeper_oracle::Client;

/// An error response for the next requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InjectedError {
    pub(crate) code: u16,
    /// In seconds.
    pub(crate) retry_after: Option<u32>,
    /// Number of requests to answer with it.
    pub(crate) times: u32,
}

/// Accepts plain HTTP and forwards it to the server with TLS and a token. Dropping it stops accepting connections.
#[derive(Debug)]
pub(crate) struct ReverseProxy {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    server: Client,
    injected: Mutex<Option<InjectedError>>,
}

type ProxyResponse = Response<Either<Incoming, Full<Bytes>>>;

impl ReverseProxy {
    pub(crate) async fn start(server: Client) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { server, injected: Mutex::default() });
        let accepting = tokio::spawn(accept(listener, shared.clone())).abort_handle();
        Ok(Self { address, shared, accepting })
    }

    /// Answers the next requests with this error.
    pub(crate) fn inject(&self, error: InjectedError) {
        *self.shared.injected.lock().unwrap() = Some(error);
    }

    pub(crate) fn heal(&self) {
        *self.shared.injected.lock().unwrap() = None;
    }
}

impl Drop for ReverseProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let shared = shared.clone();
        let service = service_fn(move |request| {
            let shared = shared.clone();
            async move { shared.respond(request).await }
        });
        // The task ends when the client or the server closes the connection.
        tokio::spawn(
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
        );
    }
}

impl Shared {
    /// Returns an injected error or forwards the request. On an `Err`, hyper closes the connection to the client.
    async fn respond(
        &self,
        request: Request<Incoming>,
    ) -> Result<ProxyResponse, Box<dyn std::error::Error + Send + Sync>> {
        if let Some(error) = self.next_error() {
            return Ok(error.response());
        }
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(self.server.open(Request::from_parts(head, body)).await?.map(Either::Left))
    }

    fn next_error(&self) -> Option<InjectedError> {
        let mut injected = self.injected.lock().unwrap();
        let error = (*injected)?;
        *injected = (error.times > 1).then_some(InjectedError { times: error.times - 1, ..error });
        Some(error)
    }
}

impl InjectedError {
    /// Plain text instead of a `Status`, as a load balancer would send it.
    fn response(self) -> ProxyResponse {
        let body = Full::from(Bytes::from_static(b"not now, please"));
        let mut response = Response::new(Either::Right(body));
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap();
        response.headers_mut().insert(CONTENT_TYPE, "text/plain".parse().unwrap());
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}
