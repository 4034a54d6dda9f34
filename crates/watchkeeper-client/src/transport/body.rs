//! Request and response bodies.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::Incoming;
use watchkeeper_wire::Malformed;
use watchkeeper_wire::gzip::Gunzip;

use super::pool::StreamPermit;
use crate::config::MAX_RESPONSE_BYTES;

/// The body of a request or response.
pub struct Body {
    content: Content,
    /// Holds the connection while the response is being read.
    permit: Option<StreamPermit>,
    limit: Option<u64>,
    /// Bytes received so far, before decompression. Counted for gzip only.
    received: u64,
    /// Bytes returned so far, after decompression.
    decompressed: u64,
}

enum Content {
    Empty,
    Full(Full<Bytes>),
    Incoming(Incoming),
    /// Decompressed; `None` after its end.
    Gzip {
        incoming: Incoming,
        gunzip: Option<Box<Gunzip>>,
    },
    Stream(Pin<Box<dyn HttpBody<Data = Bytes, Error = BodyError> + Send>>),
}

/// An error reading a body.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The connection was lost.
    #[error("connection lost while reading the response")]
    Lost(#[from] hyper::Error),
    /// The gzip data is invalid.
    #[error("invalid gzip data in the response")]
    Gzip(#[from] Malformed),
    /// The body exceeds the limit: request less, or raise the limit.
    #[error(
        "response is larger than the limit of {limit} bytes; use pages or a selector, or raise the limit"
    )]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The source of a request body failed.
    #[error("failed to read the request body")]
    Request(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Body {
    /// Creates an empty body.
    pub fn empty() -> Self {
        Self::new(Content::Empty, None)
    }

    /// Creates a body from a stream. A request with such a body is never sent twice.
    pub fn stream(body: impl HttpBody<Data = Bytes, Error = BodyError> + Send + 'static) -> Self {
        Self::new(Content::Stream(Box::pin(body)), None)
    }

    fn new(content: Content, permit: Option<StreamPermit>) -> Self {
        Self { content, permit, limit: None, received: 0, decompressed: 0 }
    }

    /// Limits the body to this many bytes, both compressed and decompressed. A larger body fails with
    /// [`BodyError::TooLarge`], immediately if its length is known in advance.
    #[must_use]
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = Some(bytes);
        self
    }

    /// Reads the whole body: at most [`MAX_RESPONSE_BYTES`], unless another [limit](Self::limit) was set.
    ///
    /// # Errors
    /// If the body is truncated, invalid or too large.
    pub async fn bytes(mut self) -> Result<Bytes, BodyError> {
        self.limit.get_or_insert(MAX_RESPONSE_BYTES);
        let mut buffer = BodyBuffer::default();
        while let Some(chunk) = self.chunk().await? {
            buffer.push(chunk);
        }
        Ok(buffer.finish())
    }

    /// Returns the next chunk, or `None` at the end. Cancel safe.
    ///
    /// # Errors
    /// If the body is truncated, invalid or too large.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        loop {
            match self.frame().await.transpose()? {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// Clones the body, unless it can be read only once.
    pub(super) fn try_clone(&self) -> Option<Self> {
        let content = match &self.content {
            Content::Empty => Content::Empty,
            Content::Full(full) => Content::Full(full.clone()),
            Content::Incoming(_) | Content::Gzip { .. } | Content::Stream(_) => return None,
        };
        Some(Self::new(content, None))
    }

    pub(super) fn incoming(incoming: Incoming, permit: Option<StreamPermit>) -> Self {
        Self::new(Content::Incoming(incoming), permit)
    }

    pub(super) fn gunzip(self) -> Self {
        match self.content {
            Content::Incoming(incoming) => {
                let content = Content::Gzip { incoming, gunzip: Some(Box::default()) };
                Self { content, ..self }
            }
            content => Self { content, ..self },
        }
    }
}

impl Body {
    /// Returns whether the body exceeds its limit, or is known to do so eventually.
    fn is_too_large(&self) -> bool {
        let left = match self.content {
            Content::Gzip { .. } => 0, // the length is the compressed one
            _ => self.size_hint().lower(),
        };
        self.limit.is_some_and(|limit| self.decompressed.saturating_add(left) > limit)
    }

    /// Returns the error, and drops the rest of the body.
    fn too_large(&mut self) -> BodyError {
        (self.content, self.permit) = (Content::Empty, None);
        BodyError::TooLarge { limit: self.limit.take().unwrap_or_default() }
    }
}

/// A buffer that concatenates the chunks of a body.
///
/// Each chunk is freed at once, so that its memory serves the next: a long body is held once, and a large buffer grows
/// without a copy where the system can move pages. A single chunk is not copied.
#[derive(Debug, Default)]
pub(crate) struct BodyBuffer {
    first: Bytes,
    whole: Vec<u8>,
}

impl BodyBuffer {
    pub(crate) fn push(&mut self, chunk: Bytes) {
        if self.as_slice().is_empty() {
            self.first = chunk;
            return;
        }
        let first = std::mem::take(&mut self.first);
        self.whole.reserve(first.len() + chunk.len());
        self.whole.extend_from_slice(&first);
        self.whole.extend_from_slice(&chunk);
    }

    /// Returns the bytes received so far.
    pub(crate) fn as_slice(&self) -> &[u8] {
        if self.whole.is_empty() { &self.first } else { &self.whole }
    }

    pub(crate) fn finish(self) -> Bytes {
        if self.whole.is_empty() { self.first } else { self.whole.into() }
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self::new(Content::Full(Full::new(bytes.into())), None)
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body").field("size", &self.size_hint()).finish_non_exhaustive()
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.is_too_large() {
            return Poll::Ready(Some(Err(self.too_large())));
        }
        let this = &mut *self;
        let polled = match &mut this.content {
            Content::Empty => Poll::Ready(None),
            Content::Full(full) => Pin::new(full).poll_frame(context).map_err(|never| match never {}),
            Content::Incoming(incoming) => Pin::new(incoming).poll_frame(context).map_err(BodyError::Lost),
            Content::Gzip { incoming, gunzip } => {
                let limit = this.limit.unwrap_or(u64::MAX);
                poll_gzip(incoming, gunzip, &mut this.received, limit, context)
            }
            Content::Stream(stream) => stream.as_mut().poll_frame(context),
        };
        let mut done = ready!(polled);
        if let Some(data) = done.as_ref().and_then(|done| done.as_ref().ok()?.data_ref()) {
            self.decompressed += data.len() as u64;
            if self.is_too_large() {
                done = Some(Err(self.too_large()));
            }
        }
        if !matches!(done, Some(Ok(_))) {
            self.permit = None; // frees the connection as soon as the end is known
        }
        Poll::Ready(done)
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Empty => true,
            Content::Full(full) => full.is_end_stream(),
            Content::Incoming(incoming) => incoming.is_end_stream(),
            Content::Gzip { gunzip, .. } => gunzip.is_none(),
            Content::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Empty => HttpBody::size_hint(&Empty::<Bytes>::new()),
            Content::Full(full) => full.size_hint(),
            Content::Incoming(incoming) => incoming.size_hint(),
            Content::Gzip { .. } => SizeHint::default(),
            Content::Stream(stream) => stream.size_hint(),
        }
    }
}

/// Polls for decompressed data. Also counts received bytes: compressed input may be endless without any output.
fn poll_gzip(
    incoming: &mut Incoming,
    gunzip: &mut Option<Box<Gunzip>>,
    received: &mut u64,
    limit: u64,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
    let outcome = loop {
        let Some(open) = gunzip else { return Poll::Ready(None) };
        match open.next() {
            Ok(Some(plain)) => return Poll::Ready(Some(Ok(Frame::data(plain)))),
            Ok(None) => {}
            Err(error) => break Err(error.into()),
        }
        match ready!(Pin::new(&mut *incoming).poll_frame(context)) {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    *received += data.len() as u64;
                    if *received > limit {
                        break Err(BodyError::TooLarge { limit });
                    }
                    open.push(data);
                }
            }
            Some(Err(error)) => break Err(error.into()),
            None => break Ok(()),
        }
    };
    let ended = gunzip.take().map_or(Ok(()), |gunzip| gunzip.finish().map_err(BodyError::from));
    Poll::Ready(outcome.and(ended).err().map(Err))
}
