//! gRPC calls over an HTTP/2 connection.
//!
//! Input: requests of [`Etcd`](crate::Etcd).
//! Output: a [`Connection`].
//!
//! Invariants:
//! - `grpc.P1`: a unary response is returned only after its status has arrived and is OK.
//! - `grpc.P2`: dropping a call or its response cancels the request.

mod frames;
mod outgoing;
mod status;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Version, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use frames::Frames;
pub(crate) use frames::frame;
pub(crate) use outgoing::Outgoing;

use crate::connection::Connection;
use crate::error::Error;

/// A method to call, with its metadata.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Path, such as `/etcdserverpb.KV/Range`.
    pub(crate) method: &'static str,
    pub(crate) token: Option<HeaderValue>,
    /// Whether a member that loses its leader ends the call: a watch on it would receive nothing.
    pub(crate) needs_leader: bool,
    /// Limit of a response message, in bytes.
    pub(crate) limit: usize,
}

impl Call {
    /// Sends the request, and returns once the response begins.
    pub(crate) async fn send(self, connection: &mut Connection, body: Outgoing) -> Result<Messages, Error> {
        let uri = connection.uri(self.method);
        let mut request = Request::builder()
            .method(Method::POST)
            .version(Version::HTTP_2)
            .uri(uri)
            .header(header::CONTENT_TYPE, "application/grpc")
            .header(header::TE, "trailers")
            .header(header::USER_AGENT, concat!("watchkeeper-etcd/", env!("CARGO_PKG_VERSION")));
        if self.needs_leader {
            request = request.header("hasleader", "true");
        }
        if let Some(token) = self.token {
            request = request.header("token", token);
        }
        let request = request.body(body).map_err(|error| Error::NotEtcd(error.to_string()))?;
        let response = connection.send(request).await?;
        let (head, body) = response.into_parts();
        if let Some(outcome) = status::outcome(&head.headers) {
            outcome?; // a response without messages has its status in the headers
            return Err(Error::unavailable("empty response"));
        }
        status::check(head.status, &head.headers)?;
        Ok(Messages { body, frames: Frames::new(self.limit) })
    }
}

/// The messages of a response.
#[derive(Debug)]
pub(crate) struct Messages {
    body: Incoming,
    frames: Frames,
}

impl Messages {
    /// Waits for the next message; `None` at the end, if the status is OK. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            if let Some(message) = self.frames.next()? {
                return Ok(Some(message));
            }
            match self.body.frame().await {
                None => return Err(Error::unavailable("response ended without a status")),
                Some(Err(error)) => return Err(Error::unavailable(cause(&error))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => self.frames.push(&bytes),
                    Err(frame) => {
                        let trailers = frame.into_trailers().unwrap_or_default();
                        let outcome = status::outcome(&trailers);
                        outcome.unwrap_or_else(|| Err(Error::unavailable("response has no status")))?;
                        if self.frames.is_partial() {
                            return Err(Error::unavailable("response ended within a message"));
                        }
                        return Ok(None);
                    }
                },
            }
        }
    }

    /// Waits for the message of a unary response (`grpc.P1`).
    pub(crate) async fn only(mut self) -> Result<Bytes, Error> {
        let message = self.next().await?.ok_or_else(|| Error::unavailable("empty response"))?;
        match self.next().await? {
            None => Ok(message),
            Some(_) => Err(Error::NotEtcd("more than one message in a unary response".to_owned())),
        }
    }
}

/// Joins the messages of an error and its sources.
pub(crate) fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
