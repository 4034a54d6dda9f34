//! Request bodies, read within limits.
//!
//! Input: the connection, chunk by chunk.
//! Output: [`decode`](crate::http::decode), when the [`Handler`](crate::http::Handler) reads the body.
//!
//! Invariants:
//! - `body.B1`: at most [`BodyLimits::bytes`] of a body are kept, and reading waits at most [`BodyLimits::total`] for
//!   all of it and [`BodyLimits::idle`] for the next chunk.
//! - `body.B2`: a body is read only when the handler needs it, so that other errors are reported first, as in
//!   kube-apiserver.
//! - `body.B3`: an unread body is drained before the response if it is short and already arriving: a client that is
//!   reset while it writes may lose the response.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use tokio::time::{Instant, timeout_at};
use watchkeeper_core::Status;

use crate::size::REQUEST_BYTES;

/// Limits on the size and duration of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Maximum size in bytes.
    pub bytes: usize,
    /// Maximum number of bytes to drain when a body is too large: a client that is disconnected while it writes never
    /// learns why.
    pub drained: usize,
    /// Maximum wait for the next chunk.
    pub idle: Duration,
    /// Maximum time for the whole body.
    pub total: Duration,
}

impl BodyLimits {
    /// 3 MiB, as in kube-apiserver; 64 MiB to drain; 15 s per chunk and 60 s in total.
    pub const DEFAULT: Self = Self {
        bytes: REQUEST_BYTES,
        drained: 64 << 20,
        idle: Duration::from_secs(15),
        total: Duration::from_secs(60),
    };
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Holds a body until it is read.
type Slot = Arc<Mutex<Option<UnsyncBoxBody<Bytes, BoxError>>>>;

/// Limits on draining a body that the handler has not read (`body.B3`).
const UNREAD_BYTES: usize = 256 << 10;
const UNREAD_TIME: Duration = Duration::from_secs(1);

/// The unread body of a request.
#[derive(Debug)]
pub struct RequestBody {
    body: Slot,
    limits: BodyLimits,
    awaits_continue: bool,
}

/// Drains what the handler has not read.
#[derive(Debug)]
pub(crate) struct Unread(Slot);

impl Unread {
    /// Drains the body if nobody has read it (`body.B3`).
    pub(crate) async fn discard(self) {
        let body = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(body) = body.filter(|body| !body.is_end_stream()) else { return };
        if body.size_hint().lower() <= UNREAD_BYTES as u64 {
            let deadline = Instant::now() + UNREAD_TIME;
            Chunks { body, idle: UNREAD_TIME, deadline }.drain(UNREAD_BYTES).await;
        }
    }
}

impl RequestBody {
    /// Wraps a body that arrives over time.
    pub fn new<B>(body: B, limits: BodyLimits) -> Self
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let body = Arc::new(Mutex::new(Some(body.map_err(Into::into).boxed_unsync())));
        Self { body, limits, awaits_continue: false }
    }

    /// Sets whether the client sends the body only on request (`Expect: 100-continue`). A body that is announced as
    /// too large is then refused without being read.
    #[must_use]
    pub(crate) fn awaits_continue(mut self, awaits: bool) -> Self {
        self.awaits_continue = awaits;
        self
    }

    /// Returns a handle that drains the body after the handler has responded.
    pub(crate) fn unread(&self) -> Unread {
        Unread(self.body.clone())
    }

    /// Reads the whole body. If dropped before the end, what has arrived is lost, and HTTP/1.1 has to close the
    /// connection.
    ///
    /// # Errors
    /// Returns 413 if the body is too large, 504 if it takes too long, and 400 if the connection breaks (`body.B1`).
    pub async fn read(self) -> Result<Bytes, Status> {
        let Self { body, limits, awaits_continue } = self;
        let body = body.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(body) = body else { return Ok(Bytes::new()) }; // already drained
        let deadline = Instant::now() + limits.total;
        let too_large = || Status::request_entity_too_large(format!("limit is {}", limits.bytes));
        let mut chunks = Chunks { body, idle: limits.idle, deadline };
        if chunks.body.size_hint().lower() > limits.bytes as u64 {
            if !awaits_continue {
                chunks.drain(limits.drained).await;
            }
            return Err(too_large());
        }
        let Some(first) = chunks.next().await? else { return Ok(Bytes::new()) };
        let mut whole = BytesMut::from(first);
        while whole.len() <= limits.bytes {
            let Some(chunk) = chunks.next().await? else { return Ok(whole.freeze()) };
            whole.extend_from_slice(&chunk);
        }
        drop(whole);
        chunks.drain(limits.drained).await;
        Err(too_large())
    }
}

/// Reads chunks with timeouts.
struct Chunks {
    body: UnsyncBoxBody<Bytes, BoxError>,
    idle: Duration,
    deadline: Instant,
}

impl Chunks {
    async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            let deadline = self.deadline.min(Instant::now() + self.idle);
            match timeout_at(deadline, self.body.frame()).await {
                Err(_) => {
                    let message =
                        "request did not complete within requested timeout - context deadline exceeded";
                    return Err(Status::timeout(message, Duration::ZERO));
                }
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(Status::bad_request(error.to_string())),
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Ok(Some(data)),
                    _ => {} // trailers are ignored
                },
            }
        }
    }

    async fn drain(&mut self, limit: usize) {
        let mut drained = 0;
        while drained <= limit {
            let Ok(Some(chunk)) = self.next().await else { return };
            drained += chunk.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{Full, StreamBody};

    fn limits(bytes: usize) -> BodyLimits {
        BodyLimits { bytes, drained: 100, ..BodyLimits::DEFAULT }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_of_just_the_limit_is_read_and_one_byte_more_is_refused() {
        let body = |length: usize| Full::new(Bytes::from(vec![b'x'; length]));
        assert_eq!(RequestBody::new(body(10), limits(10)).read().await.unwrap().len(), 10);
        let status = RequestBody::new(body(11), limits(10)).read().await.unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (413, "Request entity too large: limit is 10"));
    }

    /// A body of one-byte chunks that then stalls.
    fn stalling(chunks: usize) -> impl http_body::Body<Data = Bytes, Error = std::io::Error> {
        let chunks =
            futures_util::stream::iter((0..chunks).map(|_| Ok(http_body::Frame::data(Bytes::from("x")))));
        StreamBody::new(futures_util::StreamExt::chain(chunks, futures_util::stream::pending()))
    }

    #[tokio::test(start_paused = true)]
    async fn an_unread_body_is_drained_but_not_awaited() {
        let begun = Instant::now();
        let body = RequestBody::new(stalling(2), BodyLimits::DEFAULT);
        body.unread().discard().await;
        assert_eq!(begun.elapsed(), UNREAD_TIME);
        assert_eq!(body.read().await.unwrap(), Bytes::new());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stalled_body_times_out() {
        let begun = Instant::now();
        let status = RequestBody::new(stalling(2), BodyLimits::DEFAULT).read().await.unwrap_err();
        assert_eq!(status.code, 504);
        assert_eq!(begun.elapsed().as_secs(), BodyLimits::DEFAULT.idle.as_secs());
    }

    /// A body that is announced and never sent.
    struct Announced(u64);

    impl http_body::Body for Announced {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
            panic!("the body is read");
        }

        fn size_hint(&self) -> http_body::SizeHint {
            http_body::SizeHint::with_exact(self.0)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_body_behind_100_continue_is_refused_unread() {
        let body = RequestBody::new(Announced(11), limits(10)).awaits_continue(true);
        assert_eq!(body.read().await.unwrap_err().code, 413);
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_body_without_a_length_is_refused_while_it_arrives() {
        let status = RequestBody::new(stalling(1000), limits(10)).read().await.unwrap_err();
        assert_eq!(status.code, 413);
    }
}
