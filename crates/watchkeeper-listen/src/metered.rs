//! Metered: a response body whose unread bytes are charged to a budget.
//!
//! Input: the body of a [`ServiceResponse`](crate::ServiceResponse).
//! Output: hyper, in pieces of at most [`PIECE_BYTES`].
//!
//! Invariants:
//! - `metered.M1`: the body is asked for more only while the [`Budget`] is not used up, and what it returns is
//!   charged until it is written.
//! - `metered.M2`: over HTTP/2 a body ends only when everything before its end is written. Otherwise hyper would
//!   leave the rest with the connection, where nothing watches whether the client reads it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::future::BoxFuture;
use http_body::{Body, Frame, SizeHint};

use crate::budget::{Budget, Charge};
use crate::progress::Progress;

/// The largest piece that is handed to hyper at once: what a client has to read to make progress.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// Pieces below this size are not charged: watch events are mostly smaller, and charging each would cost more than it
/// is worth. The send buffer bounds how many of them a stream can hold.
pub const CHARGED_FROM_BYTES: usize = 4 << 10;

/// A body whose unread bytes are charged to a budget.
pub(crate) struct Metered<B> {
    inner: B,
    budget: Budget,
    /// The service's charge for the whole body.
    prepaid: Option<Charge>,
    /// Whether the body has returned something.
    has_begun: bool,
    /// Bytes that the body has returned and hyper has not taken.
    left: Option<(Bytes, Charge)>,
    /// The wait for the budget (`metered.M1`).
    available: Option<BoxFuture<'static, ()>>,
    progress: Arc<Progress>,
    /// `metered.M2`: set for HTTP/2.
    ends_when_written: bool,
    has_ended: bool,
}

impl<B> Metered<B> {
    pub(crate) fn new(
        inner: B,
        budget: Budget,
        prepaid: Option<Charge>,
        progress: Arc<Progress>,
        ends_when_written: bool,
    ) -> Self {
        let (left, available, has_begun, has_ended) = (None, None, false, false);
        Self { inner, budget, prepaid, has_begun, left, available, progress, ends_when_written, has_ended }
    }

    fn poll_available(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let is_paid = self.prepaid.is_some() && !self.has_begun;
        if self.available.is_none() && (is_paid || !self.budget.is_used_up()) {
            return Poll::Ready(());
        }
        let budget = &self.budget;
        let available = self.available.get_or_insert_with(|| {
            let budget = budget.clone();
            Box::pin(async move { budget.available().await })
        });
        ready!(available.as_mut().poll(context));
        self.available = None;
        Poll::Ready(())
    }

    /// Takes the next piece of `left`.
    fn piece(&mut self) -> Option<Bytes> {
        let (mut bytes, mut charge) = self.left.take()?;
        let piece = bytes.split_to(bytes.len().min(PIECE_BYTES));
        let piece_charge = charge.split(piece.len());
        if !bytes.is_empty() {
            self.left = Some((bytes, charge));
        }
        self.progress.offered(piece.len());
        Some(Bytes::from_owner(Piece {
            bytes: piece,
            progress: self.progress.clone(),
            _charge: piece_charge,
        }))
    }

    fn hand_over(&mut self, bytes: Bytes) -> Bytes {
        self.has_begun = true;
        if bytes.len() < CHARGED_FROM_BYTES {
            self.progress.offered(0);
            return bytes;
        }
        // A compressed body comes in several pieces, which are held besides the original: the prepaid charge stays.
        let is_whole = self.prepaid.as_ref().is_some_and(|charge| charge.bytes() == bytes.len());
        let prepaid = if is_whole { self.prepaid.take() } else { None };
        let charge = prepaid.unwrap_or_else(|| self.budget.charge_now(bytes.len()));
        self.left = Some((bytes, charge));
        self.piece().unwrap_or_default()
    }
}

/// Bytes that are charged until they are written.
struct Piece {
    bytes: Bytes,
    progress: Arc<Progress>,
    _charge: Charge,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.progress.written(self.bytes.len());
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Metered<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = &mut *self;
        this.progress.asked();
        if let Some(piece) = this.piece() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if !this.has_ended {
            ready!(this.poll_available(context)); // metered.M1
            match ready!(Pin::new(&mut this.inner).poll_frame(context)) {
                Some(Ok(frame)) => {
                    let frame = match frame.into_data() {
                        Ok(bytes) => Frame::data(this.hand_over(bytes)),
                        Err(trailers) => trailers,
                    };
                    return Poll::Ready(Some(Ok(frame)));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => this.has_ended = true,
            }
        }
        if this.ends_when_written {
            ready!(this.progress.poll_written(context)); // metered.M2
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        let is_written = self.left.is_none() && !(self.ends_when_written && self.progress.has_unread());
        is_written && (self.has_ended || self.inner.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match self.left {
            None => self.inner.size_hint(),
            Some(_) => SizeHint::default(),
        }
    }
}

impl<B> Drop for Metered<B> {
    fn drop(&mut self) {
        self.progress.asked();
    }
}
