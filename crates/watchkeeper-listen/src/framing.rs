//! Framing: finds requests of HTTP/1.1 that give their length in two ways.
//!
//! From: the bytes of a connection, on their way to hyper.
//! To:   the listener, which refuses a request with both `Transfer-Encoding` and `Content-Length`. hyper drops the
//!       latter without a word, so that it cannot be seen in the request. A proxy in front that honours the other one
//!       of the two would take a part of the body for a request, or a request for a part of the body.
//!
//! Heads are read as hyper does, by the same parser. A connection is closed after a request with a
//! `Transfer-Encoding`, so that what comes after such a request need not be read here.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many headers hyper reads; it refuses a request with more.
const HEADERS: usize = 100;

/// Whether the request with a `Transfer-Encoding`, the last one of its connection, has a `Content-Length` too.
#[derive(Debug, Clone, Default)]
pub(super) struct Ambiguous(Arc<AtomicBool>);

impl Ambiguous {
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What of the next bytes is to be looked at.
#[derive(Debug)]
enum Next {
    /// The head of a request, of which these bytes have come.
    Head(Vec<u8>),
    /// This many bytes of a body.
    Body(u64),
    /// Nothing any more: no further request is taken from the connection.
    Nothing,
}

/// A connection whose heads are looked at.
pub(super) struct Framed<S> {
    inner: S,
    next: Next,
    /// A head with more bytes than this is refused by hyper.
    head_bytes: usize,
    ambiguous: Ambiguous,
}

impl<S> Framed<S> {
    pub(super) fn new(inner: S, head_bytes: usize, ambiguous: Ambiguous) -> Self {
        Self { inner, next: Next::Head(Vec::new()), head_bytes, ambiguous }
    }

    fn look(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match &mut self.next {
                Next::Nothing => return,
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
                            self.next = Next::Nothing;
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

/// How long the head is that these bytes begin with; `None` if it is not complete. It ends with an empty line, which
/// was not among the first `seen` bytes.
fn head_length(bytes: &[u8], seen: usize) -> Option<usize> {
    let ends_line = |place: &usize| bytes[*place] == b'\n';
    let is_empty = |place: &usize| {
        let line = &bytes[..*place];
        line.ends_with(b"\n") || line.ends_with(b"\n\r")
    };
    (seen..bytes.len()).filter(ends_line).find(is_empty).map(|place| place + 1)
}

/// What comes after a head.
fn read_head(head: &[u8], ambiguous: &Ambiguous) -> Next {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    if !matches!(request.parse(head), Ok(httparse::Status::Complete(_))) {
        return Next::Nothing; // hyper refuses it
    }
    let find = |name: &str| request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    let length = find("content-length");
    if find("transfer-encoding").is_some() {
        ambiguous.0.store(length.is_some(), Ordering::Release);
        return Next::Nothing;
    }
    // hyper refuses a length that is not a number, and lengths that differ.
    let length = length.map(|length| std::str::from_utf8(length.value).ok()?.trim().parse().ok());
    match length {
        None | Some(Some(0)) => Next::Head(Vec::new()),
        Some(Some(length)) => Next::Body(length),
        Some(None) => Next::Nothing,
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
        self.look(&buffer.filled()[before..]);
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

    /// Whether the bytes hold an ambiguous request, in pieces of this size.
    fn is_ambiguous(text: &str, size: usize) -> bool {
        let ambiguous = Ambiguous::default();
        let mut framed = Framed::new((), 1 << 16, ambiguous.clone());
        for piece in text.as_bytes().chunks(size) {
            framed.look(piece);
        }
        ambiguous.get()
    }

    #[test]
    fn both_lengths_are_found_in_any_order_after_any_request_and_in_any_pieces() {
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
    fn a_head_that_never_ends_is_not_kept() {
        let mut framed = Framed::new((), 100, Ambiguous::default());
        framed.look(&[b'x'; 80]);
        framed.look(&[b'x'; 80]);
        assert!(matches!(framed.next, Next::Nothing));
    }
}
