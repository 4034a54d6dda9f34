//! Front: an HTTP server before the real one that answers some requests by itself.

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

/// What it answers in place of the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    /// Seconds.
    pub(crate) retry_after: Option<u32>,
    pub(crate) times: u32,
}

/// Plain HTTP on one side, TLS and a token on the other. Dropped, it accepts nobody any more.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    server: Client,
    refusal: Mutex<Option<Refusal>>,
}

type Answer = Response<Either<Incoming, Full<Bytes>>>;

impl Front {
    pub(crate) async fn start(server: Client) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { server, refusal: Mutex::default() });
        let accepting = tokio::spawn(accept(listener, shared.clone())).abort_handle();
        Ok(Self { address, shared, accepting })
    }

    /// Requests to come are answered so.
    pub(crate) fn refuse(&self, refusal: Refusal) {
        *self.shared.refusal.lock().unwrap() = Some(refusal);
    }

    pub(crate) fn heal(&self) {
        *self.shared.refusal.lock().unwrap() = None;
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let shared = shared.clone();
        let answers = service_fn(move |request| {
            let shared = shared.clone();
            async move { shared.answer(request).await }
        });
        // It ends when the client or the server ends it.
        tokio::spawn(
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answers),
        );
    }
}

impl Shared {
    /// An error ends the connection: to the client the server is gone.
    async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        if let Some(refusal) = self.next_refusal() {
            return Ok(refusal.answer());
        }
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(self.server.open(Request::from_parts(head, body)).await?.map(Either::Left))
    }

    fn next_refusal(&self) -> Option<Refusal> {
        let mut place = self.refusal.lock().unwrap();
        let refusal = (*place)?;
        *place = (refusal.times > 1).then_some(Refusal { times: refusal.times - 1, ..refusal });
        Some(refusal)
    }
}

impl Refusal {
    /// In words of no object, as what stands before a server answers.
    fn answer(self) -> Answer {
        let body = Full::from(Bytes::from_static(b"not now, please"));
        let mut answer = Response::new(Either::Right(body));
        *answer.status_mut() = StatusCode::from_u16(self.code).unwrap();
        answer.headers_mut().insert(CONTENT_TYPE, "text/plain".parse().unwrap());
        if let Some(seconds) = self.retry_after {
            answer.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        answer
    }
}
