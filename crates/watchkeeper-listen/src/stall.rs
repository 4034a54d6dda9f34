//! Stall: disconnects an HTTP/1.1 client whose socket accepts no bytes.
//!
//! Invariants:
//! - `stall.S1`: there is no timer while writes make progress, or while there is nothing to write.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection whose writes time out.
pub(super) struct Stalling<S> {
    inner: S,
    timeout: Duration,
    /// Set while a write waits (`stall.S1`).
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S: Unpin> Stalling<S> {
    pub(super) fn new(inner: S, timeout: Duration) -> Self {
        Self { inner, timeout, waiting: None }
    }

    fn time_out<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = None; // stall.S1
            return polled;
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(self.timeout)));
        match waiting.as_mut().poll(context) {
            Poll::Ready(()) => {
                let timeout = self.timeout;
                tracing::warn!("slow reader disconnected: its socket accepted no bytes for {timeout:.0?}");
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalling<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.time_out(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.time_out(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(context);
        self.time_out(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_shutdown(context);
        self.time_out(polled, context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    const TIMEOUT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_accepts_nothing_is_disconnected() {
        let (ours, _theirs) = tokio::io::duplex(4);
        let mut stalling = Stalling::new(ours, TIMEOUT);
        let begun = tokio::time::Instant::now();
        let error = stalling.write_all(b"more than fits").await.unwrap_err();
        assert_eq!((error.kind(), begun.elapsed().as_secs()), (io::ErrorKind::TimedOut, 30));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_accepts_a_little_is_not_disconnected() {
        let (ours, mut theirs) = tokio::io::duplex(4);
        let mut stalling = Stalling::new(ours, TIMEOUT);
        let writing = tokio::spawn(async move { stalling.write_all(b"more than fits").await });
        let mut taken = Vec::new();
        for _ in 0..14 {
            sleep(TIMEOUT / 2).await;
            taken.push(theirs.read_u8().await.unwrap());
        }
        writing.await.unwrap().unwrap();
        assert_eq!(taken, b"more than fits");
    }
}
