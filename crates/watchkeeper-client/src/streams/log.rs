//! Container logs, in chunks or lines.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use http_body::Body as _;

use crate::rest::RequestError;
use crate::transport::Body;

/// Maximum length of a line, in bytes. A longer line is split.
pub const LINE_BYTES: usize = 1 << 20;

/// An open log. Dropping it cancels the request.
#[derive(Debug)]
pub struct Log {
    body: Body,
    request: String,
}

impl Log {
    pub(super) fn new(body: Body, request: String) -> Self {
        Self { body, request }
    }

    /// Returns the next chunk, or `None` at the end. Cancel safe.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, RequestError> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await.transpose()
    }

    /// Returns the log as lines.
    pub fn lines(self) -> LogLines {
        LogLines { log: self, rest: BytesMut::new(), searched: 0, ended: false }
    }
}

impl Stream for Log {
    type Item = Result<Bytes, RequestError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                None => return Poll::Ready(None),
                Some(Ok(frame)) => frame,
                Some(Err(source)) => {
                    let request = self.request.clone();
                    return Poll::Ready(Some(Err(RequestError::Body { request, source })));
                }
            };
            if let Ok(bytes) = frame.into_data() {
                return Poll::Ready(Some(Ok(bytes)));
            }
        }
    }
}

/// The lines of a log, without line ends.
#[derive(Debug)]
pub struct LogLines {
    log: Log,
    /// Received bytes not yet returned.
    rest: BytesMut,
    /// Length of the prefix of `rest` known to contain no line end.
    searched: usize,
    ended: bool,
}

impl LogLines {
    /// Returns the next line, or `None` at the end. The last line may lack a line end. Cancel safe.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn next_line(&mut self) -> Result<Option<Bytes>, RequestError> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await.transpose()
    }

    /// Takes the next complete line, or a piece of one that is too long.
    fn take(&mut self) -> Option<Bytes> {
        let end = self.rest[self.searched..].iter().position(|byte| *byte == b'\n');
        let line = match end.map(|at| at + self.searched) {
            Some(end) if end <= LINE_BYTES => {
                let line = self.rest.split_to(end + 1).freeze();
                Some(line.slice(..end))
            }
            _ if self.rest.len() > LINE_BYTES => Some(self.rest.split_to(LINE_BYTES).freeze()),
            _ if self.ended && !self.rest.is_empty() => Some(self.rest.split().freeze()),
            _ => None,
        };
        self.searched = if line.is_some() { 0 } else { self.rest.len() };
        line
    }
}

impl Stream for LogLines {
    type Item = Result<Bytes, RequestError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(line) = self.take() {
                return Poll::Ready(Some(Ok(line)));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match ready!(Pin::new(&mut self.log).poll_next(context)) {
                Some(Ok(bytes)) => self.rest.extend_from_slice(&bytes),
                Some(Err(error)) => {
                    self.ended = true;
                    self.rest.clear();
                    return Poll::Ready(Some(Err(error)));
                }
                None => self.ended = true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: impl Into<Bytes>) -> Vec<Bytes> {
        let mut lines = Log::new(Body::from(text), "GET /log".to_owned()).lines();
        let mut read = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            read.push(line);
        }
        read
    }

    #[tokio::test]
    async fn lines_are_split_at_line_ends() {
        assert_eq!(lines("a\n\nbc\n").await, ["a", "", "bc"]);
        assert_eq!(lines("a\nrest").await, ["a", "rest"]);
        assert!(lines("").await.is_empty());
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_split() {
        let mut text = vec![b'x'; LINE_BYTES + 3];
        text.extend_from_slice(b"\nnext\n");
        let lengths: Vec<usize> = lines(text).await.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [LINE_BYTES, 3, 4]);
        let mut whole = vec![b'x'; LINE_BYTES];
        whole.push(b'\n');
        assert_eq!(lines(whole).await.len(), 1);
    }
}
