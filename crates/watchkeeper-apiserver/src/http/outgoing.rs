//! Outgoing bodies: what a connection polls to send a response.
//!
//! Input: a [`Response`](super::Response), converted to an HTTP response.
//! Output: the connection, piece by piece.
//!
//! The invariants are those of [`respond`](super::respond).

use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use watchkeeper_core::{BoxError, Status};
use watchkeeper_listen::Budget;

use super::gzip::Gzip;
use super::pieces::Growing;
use super::respond::EventStream;

/// Maximum number of uncompressed bytes per gzip member of a stream.
const MEMBER_BYTES: usize = 256 << 10;

/// Resources released with a response, and the token that ends it.
#[derive(Default)]
pub(crate) struct Ends {
    /// Released once the response has been sent.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    /// Ends streams cleanly when cancelled.
    pub(crate) stop: Option<CancellationToken>,
    /// The budget that a compressor is charged to.
    pub(crate) budget: Budget,
}

/// The body of a response.
pub struct Outgoing {
    state: BodyState,
    stop: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    _permit: Option<OwnedSemaphorePermit>,
}

/// The rest to send.
pub(super) enum BodyState {
    Whole(Option<Bytes>),
    Pieces(Growing),
    Compressed(Gzip),
    Stream(EventStream),
    /// `ended` is the end of the stream, reported after the last event has been sent.
    Members {
        stream: EventStream,
        ended: Option<Result<(), BoxError>>,
    },
    Ended,
}

impl Outgoing {
    pub(super) fn new(state: BodyState, ends: Ends) -> Self {
        let streams = matches!(state, BodyState::Stream(_) | BodyState::Members { .. });
        let stop = ends.stop.filter(|_| streams).map(|stop| Box::pin(stop.cancelled_owned()));
        Self { state, stop, _permit: ends.permit }
    }
}

impl BodyState {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        match self {
            Self::Ended => Poll::Ready(None),
            Self::Whole(body) => Poll::Ready(body.take().map(Ok)),
            Self::Pieces(pieces) => Poll::Ready(next(pieces.next())),
            Self::Compressed(gzip) => Poll::Ready(next(gzip.next())),
            Self::Stream(stream) => stream.as_mut().poll_next(context),
            Self::Members { ended: Some(ended), .. } => {
                let ended = std::mem::replace(ended, Ok(()));
                Poll::Ready(ended.err().map(Err))
            }
            Self::Members { stream, ended } => match ready!(poll_member(stream, ended, context)) {
                Some(member) => Poll::Ready(Some(Ok(member))),
                None => self.poll(context), // `ended` is set
            },
        }
    }
}

const INTO_VECTOR: &str = "writing to a vector does not fail";

/// Compresses the events that are ready into one gzip member (`respond.A3`); `None` if the stream has ended before any.
fn poll_member(
    stream: &mut EventStream,
    ended: &mut Option<Result<(), BoxError>>,
    context: &mut Context<'_>,
) -> Poll<Option<Bytes>> {
    let mut member: Option<GzEncoder<Vec<u8>>> = None;
    let mut bytes = 0;
    while bytes < MEMBER_BYTES && ended.is_none() {
        match stream.as_mut().poll_next(context) {
            Poll::Pending if member.is_none() => return Poll::Pending,
            Poll::Pending => break,
            Poll::Ready(Some(Ok(event))) => {
                let member = member.get_or_insert_with(|| GzEncoder::new(Vec::new(), Compression::fast()));
                bytes += event.len();
                member.write_all(&event).expect(INTO_VECTOR);
            }
            Poll::Ready(Some(Err(error))) => *ended = Some(Err(error)),
            Poll::Ready(None) => *ended = Some(Ok(())),
        }
    }
    Poll::Ready(member.map(|mut member| {
        // Flushed first: Go's reader returns the last block of a member only after it has read the next header, unless
        // the block was flushed.
        member.flush().expect(INTO_VECTOR);
        member.finish().expect(INTO_VECTOR).into()
    }))
}

fn next(piece: Result<Option<Bytes>, Status>) -> Option<Result<Bytes, BoxError>> {
    let piece = piece.map_err(|status| {
        tracing::warn!("failed to encode a list; aborting the response: {}", status.message);
        status.message.into()
    });
    piece.transpose()
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Poll::Ready(data) = this.state.poll(context) {
            return Poll::Ready(data.map(|data| data.map(Frame::data)));
        }
        // Checked only when there is nothing to send: the check takes a lock, once per watch.
        let Some(stop) = &mut this.stop else { return Poll::Pending };
        ready!(stop.as_mut().poll(context));
        this.stop = None;
        this.state = BodyState::Ended;
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, BodyState::Ended | BodyState::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            BodyState::Whole(body) => SizeHint::with_exact(body.as_ref().map_or(0, Bytes::len) as u64),
            BodyState::Ended => SizeHint::with_exact(0),
            _ => SizeHint::default(),
        }
    }
}
