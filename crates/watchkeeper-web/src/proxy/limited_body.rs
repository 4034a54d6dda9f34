//! Request bodies of the proxy.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Sleep, sleep};
use watchkeeper_client::transport::{Body as ClientBody, BodyError};

/// Maximum length of a forwarded body, in bytes: the API server's limit.
pub const BODY_BYTES: usize = 3 << 20;
/// Maximum time between two parts of a body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A request body that fails if it is too long or too slow.
pub(super) struct LimitedBody {
    inner: Body,
    left: usize,
    overflow: Overflow,
    waiting: Option<Pin<Box<Sleep>>>,
}

/// A record of whether a body was too long.
#[derive(Debug, Clone, Default)]
pub(super) struct Overflow(Arc<AtomicBool>);

impl Overflow {
    pub(super) fn happened(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl LimitedBody {
    pub(super) fn new(inner: Body) -> Self {
        Self { inner, left: BODY_BYTES, overflow: Overflow::default(), waiting: None }
    }

    pub(super) fn overflow(&self) -> Overflow {
        self.overflow.clone()
    }

    /// Returns the body to send; `None` if it is empty.
    pub(super) fn into_body(self) -> Option<ClientBody> {
        (!self.inner.is_end_stream()).then(|| ClientBody::stream(self))
    }

    fn check(&mut self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, BodyError> {
        let length = frame.data_ref().map_or(0, Bytes::len);
        match self.left.checked_sub(length) {
            Some(left) => {
                self.left = left;
                Ok(frame)
            }
            None => {
                self.overflow.0.store(true, Ordering::Relaxed);
                Err(BodyError::Request("body is too long".into()))
            }
        }
    }
}

impl HttpBody for LimitedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.inner).poll_frame(context);
        if let Poll::Ready(frame) = polled {
            this.waiting = None;
            let frame = frame.map(|frame| frame.map_err(|error| BodyError::Request(error.into())));
            return Poll::Ready(frame.map(|frame| frame.and_then(|frame| this.check(frame))));
        }
        let waiting = this.waiting.get_or_insert_with(|| Box::pin(sleep(BODY_TIMEOUT)));
        let slow = |()| Some(Err(BodyError::Request("body is too slow".into())));
        waiting.as_mut().poll(context).map(slow)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
