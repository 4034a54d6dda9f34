//! Ends streaming responses when the server stops (`listen.L2`).

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Response extension: marks a response that streams until the client disconnects.
///
/// `text/event-stream` responses need no mark.
#[derive(Debug, Clone, Copy)]
pub struct StreamingResponse;

/// A body that ends early and cleanly when the server stops.
struct UntilShutdown {
    inner: Body,
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
}

/// Wraps a streaming response so that it ends when the server stops.
pub(super) fn end_on_shutdown(stop: CancellationToken, response: Response) -> Response {
    let is_stream =
        response.extensions().get::<StreamingResponse>().is_some() || is_event_stream(response.headers());
    if !is_stream {
        return response;
    }
    response.map(|inner| Body::new(UntilShutdown { inner, stop: Box::pin(stop.cancelled_owned()) }))
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

impl HttpBody for UntilShutdown {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Pending => self.stop.as_mut().poll(context).map(|()| None),
            ready => ready,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default() // the body can end early
    }
}
