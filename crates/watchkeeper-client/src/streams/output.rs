//! An output of a process, for one reader.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, DuplexStream, ReadBuf, duplex};

use super::session::write_to_reader;
use super::{PIPE_BYTES, StreamError};

/// The result of a stream, shared by its parts. It is set before any of the pipes ends (`streams.W2`).
#[derive(Debug)]
pub(super) struct StreamResult {
    request: String,
    outcome: OnceLock<Result<(), StreamError>>,
}

impl StreamResult {
    pub(super) fn new(request: &str) -> Self {
        Self { request: request.to_owned(), outcome: OnceLock::new() }
    }

    /// Sets the result; later calls are ignored.
    pub(super) fn set(&self, outcome: Result<(), StreamError>) {
        let _ = self.outcome.set(outcome);
    }

    /// Returns the result that the end of a pipe stands for.
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

/// Reads from a pipe, and returns whether it has ended.
pub(super) fn poll_read(
    pipe: &mut (impl AsyncRead + Unpin),
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<io::Result<bool>> {
    let before = buffer.filled().len();
    ready!(Pin::new(pipe).poll_read(context, buffer))?;
    Poll::Ready(Ok(buffer.filled().len() == before && buffer.remaining() > 0))
}

/// An output of a process. It ends when the process closes it, or with an error if the stream breaks.
///
/// Dropping it discards further output.
#[derive(Debug)]
pub struct Output {
    pipe: DuplexStream,
    /// Whether the server has closed this output before the rest of the stream.
    closed: Arc<AtomicBool>,
    result: Arc<StreamResult>,
}

impl Output {
    /// Creates an output and its writer.
    pub(super) fn new(result: Arc<StreamResult>) -> (Self, OutputWriter) {
        let (ours, theirs) = duplex(PIPE_BYTES);
        let closed = Arc::new(AtomicBool::new(false));
        (Self { pipe: ours, closed: closed.clone(), result }, OutputWriter { pipe: Some(theirs), closed })
    }
}

/// The writing end of an [`Output`]. Dropping it ends the output with the stream's result.
#[derive(Debug)]
pub(super) struct OutputWriter {
    pipe: Option<DuplexStream>,
    closed: Arc<AtomicBool>,
}

impl OutputWriter {
    /// Writes bytes, waiting until there is room.
    pub(super) async fn write(&mut self, bytes: &[u8]) {
        write_to_reader(&mut self.pipe, bytes).await;
    }

    /// Ends the output cleanly, whatever the stream's result.
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
        let is_end = ready!(poll_read(&mut self.pipe, context, buffer))?;
        if is_end && !self.closed.load(Ordering::Acquire) {
            self.result.end().map_err(StreamError::into_io)?;
        }
        Poll::Ready(Ok(()))
    }
}
