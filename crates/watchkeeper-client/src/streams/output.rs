//! Output: what a program says, for one reader.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, DuplexStream, ReadBuf, duplex};

use super::session::give;
use super::{PIPE_BYTES, StreamError};

/// How a stream has ended, for all who have a part of it. It is known before any of its pipes ends (W2).
#[derive(Debug)]
pub(super) struct Fate {
    request: String,
    outcome: OnceLock<Result<(), StreamError>>,
}

impl Fate {
    pub(super) fn new(request: &str) -> Self {
        Self { request: request.to_owned(), outcome: OnceLock::new() }
    }

    /// The first outcome counts.
    pub(super) fn decide(&self, outcome: Result<(), StreamError>) {
        let _ = self.outcome.set(outcome);
    }

    /// What the end of a pipe means.
    pub(super) fn end(&self) -> Result<(), StreamError> {
        self.outcome.get().cloned().unwrap_or_else(|| Err(self.cancelled()))
    }

    pub(super) fn cancelled(&self) -> StreamError {
        StreamError::Cancelled { request: self.request.clone() }
    }

    pub(super) fn request(&self) -> &str {
        &self.request
    }
}

/// An output of a program. It ends when the program closes it; if the stream broke, with an error.
///
/// Dropping it throws away what comes.
#[derive(Debug)]
pub struct Output {
    pipe: DuplexStream,
    /// Whether the server has closed it before the rest.
    closed: Arc<AtomicBool>,
    fate: Arc<Fate>,
}

impl Output {
    /// An output, and what it gives to read.
    pub(super) fn new(fate: Arc<Fate>) -> (Self, Feed) {
        let (ours, theirs) = duplex(PIPE_BYTES);
        let closed = Arc::new(AtomicBool::new(false));
        (Self { pipe: ours, closed: closed.clone(), fate }, Feed { pipe: Some(theirs), closed })
    }
}

/// What an output gives to read. Dropping it ends the output as its fate says.
#[derive(Debug)]
pub(super) struct Feed {
    pipe: Option<DuplexStream>,
    closed: Arc<AtomicBool>,
}

impl Feed {
    /// Waits until there is room.
    pub(super) async fn give(&mut self, bytes: &[u8]) {
        give(&mut self.pipe, bytes).await;
    }

    /// Ends the output cleanly, whatever becomes of the rest.
    pub(super) fn close(&mut self) {
        self.closed.store(true, Ordering::Release);
        self.pipe = None;
    }
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.pipe).poll_read(context, buffer))?;
        let is_end = buffer.filled().len() == before && buffer.remaining() > 0;
        Poll::Ready(match is_end && !self.closed.load(Ordering::Acquire) {
            true => self.fate.end().map_err(StreamError::into_io),
            false => Ok(()),
        })
    }
}
