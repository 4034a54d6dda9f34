//! gRPC: messages of a request out, messages of the answer in, over one HTTP/2 connection.
//!
//! From: [`Etcd`](crate::Etcd), which knows what to ask.
//! To:   a [`Connection`].
//!
//! - P1: an answer counts once its status has come, and the status says that all is well.
//! - P2: dropping a call or its answer ends the request.

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

/// What to call, and as whom.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// `/etcdserverpb.KV/Range`.
    pub(crate) method: &'static str,
    pub(crate) token: Option<HeaderValue>,
    /// Whether a member without a leader shall end the call: it would hear of nothing.
    pub(crate) needs_leader: bool,
    /// How long a message of the answer may be.
    pub(crate) limit: usize,
}

impl Call {
    /// Sends the request, and returns once the answer begins.
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
            outcome?; // an answer without messages has its status in front
            return Err(Error::unavailable("the answer is empty"));
        }
        status::check(head.status, &head.headers)?;
        Ok(Messages { body, frames: Frames::new(self.limit) })
    }
}

/// The answer to a call.
#[derive(Debug)]
pub(crate) struct Messages {
    body: Incoming,
    frames: Frames,
}

impl Messages {
    /// The next message; `None` at a good end. Nothing is lost if it is dropped half-way.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            if let Some(message) = self.frames.next()? {
                return Ok(Some(message));
            }
            match self.body.frame().await {
                None => return Err(Error::unavailable("the answer broke off")),
                Some(Err(error)) => return Err(Error::unavailable(cause(&error))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => self.frames.push(&bytes),
                    Err(frame) => {
                        let trailers = frame.into_trailers().unwrap_or_default();
                        let outcome = status::outcome(&trailers);
                        outcome.unwrap_or_else(|| Err(Error::unavailable("the answer has no status")))?;
                        return match self.frames.is_amid() {
                            true => Err(Error::unavailable("the answer ends within a message")),
                            false => Ok(None),
                        };
                    }
                },
            }
        }
    }

    /// The one message that the answer has (P1).
    pub(crate) async fn only(mut self) -> Result<Bytes, Error> {
        let message = self.next().await?.ok_or_else(|| Error::unavailable("the answer is empty"))?;
        match self.next().await? {
            None => Ok(message),
            Some(_) => Err(Error::NotEtcd("it answers more than once".to_owned())),
        }
    }
}

/// An error with its causes.
pub(crate) fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
