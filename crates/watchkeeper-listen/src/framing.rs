//! Framing: detects HTTP/1.1 requests with two lengths, which allow request smuggling.
//!
//! Input: the bytes of a connection, before hyper reads them.
//! Output: the listener, which rejects a request with both `Transfer-Encoding` and `Content-Length`. hyper silently
//! drops the latter, so that the service cannot see it; a proxy in front that honours the other header would disagree
//! with hyper about where the body ends.
//!
//! Heads are parsed by `httparse`, as hyper does. The listener closes a connection after a request with
//! `Transfer-Encoding`, so that nothing after it has to be parsed.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum number of headers that hyper accepts.
const HEADERS: usize = 100;

/// Whether the last request of a connection, the one with `Transfer-Encoding`, also has `Content-Length`.
#[derive(Debug, Clone, Default)]
pub(super) struct Ambiguous(Arc<AtomicBool>);

impl Ambiguous {
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Meaning of the next bytes.
#[derive(Debug)]
enum Next {
    /// The head of a request, of which these bytes have arrived.
    Head(Vec<u8>),
    /// This many more bytes of a body.
    Body(u64),
    /// Not parsed: the connection takes no further request.
    Rest,
}

/// A connection whose request heads are parsed.
pub(super) struct Framed<S> {
    inner: S,
    next: Next,
    /// hyper rejects a longer head.
    head_bytes: usize,
    ambiguous: Ambiguous,
}

impl<S> Framed<S> {
    pub(super) fn new(inner: S, head_bytes: usize, ambiguous: Ambiguous) -> Self {
        Self { inner, next: Next::Head(Vec::new()), head_bytes, ambiguous }
    }

    fn inspect(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match &mut self.next {
                Next::Rest => return,
                Next::Body(left) => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = &bytes[taken..];
                    *left -= taken as u64;
                    if *left == 0 {
                        self.next = Next::Head(Vec::new());
                    }
                }
                Next::Head(head) => {
                    if head.is_empty() {
                        // Empty lines before a request are ignored.
                        bytes = bytes.trim_ascii_start();
                    }
                    let before = head.len();
                    head.extend_from_slice(bytes);
                    let Some(length) = head_length(head, before) else {
                        if head.len() > self.head_bytes {
                            self.next = Next::Rest;
                        }
                        return;
                    };
                    bytes = &bytes[length - before..];
                    self.next = read_head(&head[..length], &self.ambiguous);
                }
            }
        }
    }
}

/// Returns the length of the head that these bytes begin with; `None` if it is incomplete. The first `seen` bytes are
/// known not to hold the empty line that ends it.
fn head_length(bytes: &[u8], seen: usize) -> Option<usize> {
    let ends_line = |place: &usize| bytes[*place] == b'\n';
    let is_empty = |place: &usize| {
        let line = &bytes[..*place];
        line.ends_with(b"\n") || line.ends_with(b"\n\r")
    };
    (seen..bytes.len()).filter(ends_line).find(is_empty).map(|place| place + 1)
}

/// Parses a head, and returns what follows it.
fn read_head(head: &[u8], ambiguous: &Ambiguous) -> Next {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    if !matches!(request.parse(head), Ok(httparse::Status::Complete(_))) {
        return Next::Rest; // hyper rejects it
    }
    let find = |name: &str| request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    let length = find("content-length");
    if find("transfer-encoding").is_some() {
        ambiguous.0.store(length.is_some(), Ordering::Release);
        return Next::Rest;
    }
    // hyper rejects a length that is not a number, and lengths that differ.
    let length = length.map(|length| std::str::from_utf8(length.value).ok()?.trim().parse().ok());
    match length {
        None | Some(Some(0)) => Next::Head(Vec::new()),
        Some(Some(length)) => Next::Body(length),
        Some(None) => Next::Rest,
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Framed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        self.inspect(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Framed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the text has an ambiguous request, read in chunks of this size.
    fn is_ambiguous(text: &str, size: usize) -> bool {
        let ambiguous = Ambiguous::default();
        let mut framed = Framed::new((), 1 << 16, ambiguous.clone());
        for piece in text.as_bytes().chunks(size) {
            framed.inspect(piece);
        }
        ambiguous.get()
    }

    #[test]
    fn two_lengths_are_detected_in_any_order_after_any_request_and_in_any_chunks() {
        let both =
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n";
        let swapped = "POST / HTTP/1.1\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nGET \r\n0\r\n\r\n";
        let sized = "PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\n\r\n\r\nx";
        let empty = "GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
        let bare = "\r\nGET / HTTP/1.1\nHost: a\n\n";
        for size in [1, 2, 7, 1000] {
            for before in [String::new(), sized.into(), [empty, bare, sized, sized].concat()] {
                assert!(is_ambiguous(&(before.clone() + both), size), "{size} {before}");
                assert!(is_ambiguous(&(before.clone() + swapped), size), "{size} {before}");
                assert!(!is_ambiguous(&(before.clone() + chunked), size), "{size} {before}");
                assert!(!is_ambiguous(&(before + sized), size), "{size}");
            }
        }
    }

    #[test]
    fn an_endless_head_is_not_buffered() {
        let mut framed = Framed::new((), 100, Ambiguous::default());
        framed.inspect(&[b'x'; 80]);
        framed.inspect(&[b'x'; 80]);
        assert!(matches!(framed.next, Next::Rest));
    }
}
