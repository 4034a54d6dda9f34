//! Answer: what a kubelet says to a plain request, as it comes.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_util::future::{Either, select};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::dial::Kubelets;
use super::location::Location;

/// Why a kubelet has not answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KubeletError {
    /// There is no connection.
    Dial(String),
    /// There was one.
    Lost(String),
}

impl KubeletError {
    /// With what is below it, which is where hyper has the reason.
    pub(super) fn lost(error: &dyn std::error::Error) -> Self {
        let all = std::iter::successors(Some(error), |error| error.source());
        Self::Lost(all.map(ToString::to_string).collect::<Vec<_>>().join(": "))
    }
}

/// A connection that is driven by whoever waits for something of it (N1).
pub(super) type Connection = BoxFuture<'static, hyper::Result<()>>;

impl Kubelets {
    /// Asks a kubelet for something that it answers with a body.
    pub(crate) async fn get(&self, location: &Location) -> Result<Response<Pieces>, KubeletError> {
        let mut headers = HeaderMap::new();
        if let Ok(host) = location.place.authority().parse() {
            headers.insert(http::header::HOST, host);
        }
        let (connection, response) = self.send(location, Method::GET, headers).await?;
        Ok(response.map(|body| Pieces::new(connection, body)))
    }

    /// Sends a request, and waits for the head of the answer. There is no connection if it has ended since, or
    /// speaks something else.
    pub(super) async fn send(
        &self,
        location: &Location,
        method: Method,
        headers: HeaderMap,
    ) -> Result<(Option<Connection>, Response<Incoming>), KubeletError> {
        let lost = |error: hyper::Error| KubeletError::lost(&error);
        let stream = self.dial(&location.place).await.map_err(KubeletError::Dial)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
        let connection: Connection = Box::pin(connection.with_upgrades());
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.method_mut() = method;
        *request.uri_mut() = location
            .path
            .parse()
            .map_err(|error: http::uri::InvalidUri| KubeletError::Lost(error.to_string()))?;
        *request.headers_mut() = headers;
        let answered = pin!(sender.send_request(request));
        match select(answered, connection).await {
            Either::Left((response, connection)) => Ok((Some(connection), response.map_err(lost)?)),
            Either::Right((_, answered)) => Ok((None, answered.await.map_err(lost)?)),
        }
    }
}

/// The body of an answer, piece by piece.
pub(crate) struct Pieces {
    connection: Option<Connection>,
    body: Incoming,
}

impl Pieces {
    pub(super) fn new(connection: Option<Connection>, body: Incoming) -> Self {
        Self { connection, body }
    }

    /// The beginning of the body, no longer than this.
    pub(crate) async fn beginning(mut self, bytes: usize) -> Result<Vec<u8>, String> {
        let mut read = Vec::new();
        while let Some(piece) = std::future::poll_fn(|context| Pin::new(&mut self).poll_next(context)).await {
            read.extend_from_slice(&piece.map_err(|error| error.to_string())?);
            if read.len() >= bytes {
                read.truncate(bytes);
                break;
            }
        }
        Ok(read)
    }
}

impl Stream for Pieces {
    type Item = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(connection) = &mut self.connection
                && connection.as_mut().poll(context).is_ready()
            {
                self.connection = None; // what was lost, the body says
            }
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
            }
        }
    }
}

/// Whether a code is one that Go takes for an answer and not for a failure.
pub(crate) fn is_answer(code: StatusCode) -> bool {
    (200..=206).contains(&code.as_u16())
}
