//! Gather: coalesces the small writes of HTTP/2.
//!
//! Input: an HTTP/2 connection, which writes and flushes each data frame by itself.
//! Output: TLS, where each write is a record and a system call. With many watches on a connection, these took nearly
//! half of the server's time.
//!
//! Invariants:
//! - `gather.G1`: a flush is put off until one without new bytes, which comes once every stream was polled. The
//!   connection is woken so that it does come.
//! - `gather.G2`: while there is nothing to write, there is no buffer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Size of the buffer.
const GATHERED_BYTES: usize = 32 << 10;

/// A connection with coalesced writes.
pub(super) struct Gathered<S> {
    inner: S,
    waiting: Vec<u8>,
    /// Number of bytes of `waiting` that have been written.
    written: usize,
    /// Whether bytes were added since the last flush (`gather.G1`).
    fresh: bool,
}

impl<S: AsyncWrite + Unpin> Gathered<S> {
    pub(super) fn new(inner: S) -> Self {
        Self { inner, waiting: Vec::new(), written: 0, fresh: false }
    }

    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.waiting.len() {
            let left = &self.waiting[self.written..];
            match ready!(Pin::new(&mut self.inner).poll_write(context, left))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        (self.waiting, self.written) = (Vec::new(), 0); // gather.G2
        Poll::Ready(Ok(()))
    }

    fn gather(&mut self, bytes: &[u8]) -> usize {
        if self.waiting.capacity() == 0 {
            self.waiting.reserve_exact(GATHERED_BYTES);
        }
        let count = bytes.len().min(GATHERED_BYTES - self.waiting.len());
        self.waiting.extend_from_slice(&bytes[..count]);
        self.fresh = true;
        count
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathered<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.waiting.len() >= GATHERED_BYTES {
            ready!(this.poll_drain(context))?;
        }
        let mut count = 0;
        for slice in slices {
            let taken = this.gather(slice);
            count += taken;
            if taken < slice.len() {
                break;
            }
        }
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if std::mem::take(&mut this.fresh) {
            context.waker().wake_by_ref(); // gather.G1
            return Poll::Ready(Ok(()));
        }
        ready!(this.poll_drain(context))?;
        Pin::new(&mut this.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        ready!(this.poll_drain(context))?;
        Pin::new(&mut this.inner).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gathered<S> {
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

    #[tokio::test]
    async fn small_writes_are_sent_together_on_the_flush_without_new_bytes() {
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        let mut gathered = Gathered::new(ours);
        let mut buffer = [0; 64];
        for piece in [b"one ", b"two "] {
            gathered.write_all(piece).await.unwrap();
            gathered.flush().await.unwrap();
        }
        assert!(futures_util::poll!(Box::pin(theirs.read(&mut buffer))).is_pending());
        gathered.flush().await.unwrap();
        let count = theirs.read(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..count], b"one two ");
        assert_eq!(gathered.waiting.capacity(), 0);
    }

    #[tokio::test]
    async fn more_bytes_than_the_buffer_holds_arrive_in_order() {
        let (ours, mut theirs) = tokio::io::duplex(1000);
        let sent: Vec<u8> = (0..GATHERED_BYTES * 3 + 17).map(|byte| (byte % 251) as u8).collect();
        let expected = sent.clone();
        let sender = tokio::spawn(async move {
            let mut gathered = Gathered::new(ours);
            for piece in sent.chunks(999) {
                gathered.write_all(piece).await.unwrap();
                gathered.flush().await.unwrap();
            }
            gathered.shutdown().await.unwrap();
        });
        let mut received = Vec::new();
        theirs.read_to_end(&mut received).await.unwrap();
        sender.await.unwrap();
        assert!(received == expected);
    }
}
