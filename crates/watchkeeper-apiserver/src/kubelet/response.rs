//! Responses of kubelets to plain requests, streamed.

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

/// The reason that a kubelet did not respond.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KubeletError {
    /// No connection could be established.
    Dial(String),
    /// The connection was lost.
    Lost(String),
}

impl KubeletError {
    /// Joins the error with its sources, which is where hyper puts the reason.
    pub(super) fn lost(error: &dyn std::error::Error) -> Self {
        let all = std::iter::successors(Some(error), |error| error.source());
        Self::Lost(all.map(ToString::to_string).collect::<Vec<_>>().join(": "))
    }
}

/// A connection driven by the request that uses it (`kubelet.N1`).
pub(super) type Connection = BoxFuture<'static, hyper::Result<()>>;

impl Kubelets {
    /// Sends a GET request to a kubelet.
    pub(crate) async fn get(&self, location: &Location) -> Result<Response<Pieces>, KubeletError> {
        let mut headers = HeaderMap::new();
        if let Ok(host) = location.address.authority().parse() {
            headers.insert(http::header::HOST, host);
        }
        let (connection, response) = self.send(location, Method::GET, headers).await?;
        Ok(response.map(|body| Pieces::new(connection, body)))
    }

    /// Sends a request, and waits for the head of the response. Returns no connection if it has ended or switched
    /// protocols.
    pub(super) async fn send(
        &self,
        location: &Location,
        method: Method,
        headers: HeaderMap,
    ) -> Result<(Option<Connection>, Response<Incoming>), KubeletError> {
        let lost = |error: hyper::Error| KubeletError::lost(&error);
        let stream = self.dial(&location.address).await.map_err(KubeletError::Dial)?;
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

/// The body of a response, as a stream of pieces.
pub(crate) struct Pieces {
    connection: Option<Connection>,
    body: Incoming,
}

impl Pieces {
    pub(super) fn new(connection: Option<Connection>, body: Incoming) -> Self {
        Self { connection, body }
    }

    /// Returns the beginning of the body, at most `bytes` long.
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
                self.connection = None; // the body reports the error
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

/// Returns whether Go treats a code as a success.
pub(crate) fn is_success(code: StatusCode) -> bool {
    (200..=206).contains(&code.as_u16())
}
