//! Log: what a container has written, in pieces or in lines.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use http_body::Body as _;

use crate::rest::RequestError;
use crate::transport::Body;

/// Bytes of one line. A longer one is handed out in pieces of this size.
pub const LINE_BYTES: usize = 1 << 20;

/// A log that is being read. Dropping it ends it at the server, too.
#[derive(Debug)]
pub struct Log {
    body: Body,
    request: String,
}

impl Log {
    pub(super) fn new(body: Body, request: String) -> Self {
        Self { body, request }
    }

    /// The next bytes, wherever they end; `None` at the end. Dropped half-way, nothing is lost.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, RequestError> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await.transpose()
    }

    /// Line by line.
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

/// The lines of a log, without their ends.
#[derive(Debug)]
pub struct LogLines {
    log: Log,
    /// What has come and was not handed out.
    rest: BytesMut,
    /// How much of it has no end of a line.
    searched: usize,
    ended: bool,
}

impl LogLines {
    /// The next line; `None` at the end. A last line without an end is one all the same. Dropped half-way,
    /// nothing is lost.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn next_line(&mut self) -> Result<Option<Bytes>, RequestError> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await.transpose()
    }

    /// A line that is there, or as much of it as may be handed out at once.
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
    async fn lines_end_where_they_end() {
        assert_eq!(lines("a\n\nbc\n").await, ["a", "", "bc"]);
        assert_eq!(lines("a\nrest").await, ["a", "rest"]);
        assert!(lines("").await.is_empty());
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_comes_in_pieces() {
        let mut text = vec![b'x'; LINE_BYTES + 3];
        text.extend_from_slice(b"\nnext\n");
        let lengths: Vec<usize> = lines(text).await.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [LINE_BYTES, 3, 4]);
        let mut whole = vec![b'x'; LINE_BYTES];
        whole.push(b'\n');
        assert_eq!(lines(whole).await.len(), 1);
    }
}
