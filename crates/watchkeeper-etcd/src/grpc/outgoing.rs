//! Outgoing: the body of a request, with one message or a stream of them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::mpsc;

#[derive(Debug)]
pub(crate) enum Outgoing {
    One(Option<Bytes>),
    /// Ends when the sender is dropped.
    Many(mpsc::Receiver<Bytes>),
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Self::One(message) => Poll::Ready(message.take()),
            Self::Many(messages) => messages.poll_recv(context),
        };
        next.map(|message| message.map(|message| Ok(Frame::data(message))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::One(None))
    }
}
