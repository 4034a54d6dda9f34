//! Bodies of requests and of answers.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::Incoming;
use watchkeeper_wire::Malformed;
use watchkeeper_wire::gzip::Gunzip;

use super::pool::Lease;
use crate::config::MAX_RESPONSE_BYTES;

/// The body of a request or of an answer.
pub struct Body {
    content: Content,
    /// Keeps the connection's place for as long as the answer is being read.
    lease: Option<Lease>,
    limit: Option<u64>,
    /// Bytes that have come so far, and, of a compressed body, bytes that they became.
    received: u64,
    decompressed: u64,
}

enum Content {
    Empty,
    Full(Full<Bytes>),
    Incoming(Incoming),
    /// Decompressed; `None` once it has ended.
    Gzip {
        incoming: Incoming,
        gunzip: Option<Box<Gunzip>>,
    },
    Stream(Pin<Box<dyn HttpBody<Data = Bytes, Error = BodyError> + Send>>),
}

/// Why a body ends too early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The connection was lost.
    #[error("the connection was lost within the answer")]
    Lost(#[from] hyper::Error),
    /// What was compressed cannot be decompressed.
    #[error("the answer is compressed and broken")]
    Gzip(#[from] Malformed),
    /// There is more of it than the limit allows: ask for less, or raise the limit.
    #[error(
        "response is larger than the limit of {limit} bytes; use pages or a selector, or raise the limit"
    )]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The sender of a request's body has given up.
    #[error("the body of the request could not be had")]
    Request(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Body {
    /// Nothing.
    pub fn empty() -> Self {
        Self::new(Content::Empty, None)
    }

    /// What a stream gives. A request with such a body is never sent twice.
    pub fn stream(body: impl HttpBody<Data = Bytes, Error = BodyError> + Send + 'static) -> Self {
        Self::new(Content::Stream(Box::pin(body)), None)
    }

    fn new(content: Content, lease: Option<Lease>) -> Self {
        Self { content, lease, limit: None, received: 0, decompressed: 0 }
    }

    /// Limits it to this many bytes, as they were sent and as they are once decompressed. A longer body ends with
    /// [`BodyError::TooLarge`], at once where its length is known beforehand.
    #[must_use]
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = Some(bytes);
        self
    }

    /// All of it: at most [`MAX_RESPONSE_BYTES`], unless another [limit](Self::limit) was set.
    ///
    /// # Errors
    /// If it ends too early, or is too large.
    pub async fn bytes(mut self) -> Result<Bytes, BodyError> {
        self.limit.get_or_insert(MAX_RESPONSE_BYTES);
        let mut gathered = Gather::default();
        while let Some(chunk) = self.chunk().await? {
            gathered.push(chunk);
        }
        Ok(gathered.finish())
    }

    /// The next piece; `None` at the end. Dropped half-way, nothing is lost.
    ///
    /// # Errors
    /// If it ends too early.
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

    /// The same once more; `None` of what can be had only once.
    pub(super) fn copy(&self) -> Option<Self> {
        let content = match &self.content {
            Content::Empty => Content::Empty,
            Content::Full(full) => Content::Full(full.clone()),
            Content::Incoming(_) | Content::Gzip { .. } | Content::Stream(_) => return None,
        };
        Some(Self::new(content, None))
    }

    pub(super) fn incoming(incoming: Incoming, lease: Option<Lease>) -> Self {
        Self::new(Content::Incoming(incoming), lease)
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
    /// Whether it is, or is known to become, larger than its limit.
    fn is_too_large(&self) -> bool {
        let left = match self.content {
            Content::Gzip { .. } => 0, // the length is that of what is compressed
            _ => self.size_hint().lower(),
        };
        self.limit.is_some_and(|limit| self.decompressed.saturating_add(left) > limit)
    }

    /// The error; nothing of the rest is wanted.
    fn too_large(&mut self) -> BodyError {
        (self.content, self.lease) = (Content::Empty, None);
        BodyError::TooLarge { limit: self.limit.take().unwrap_or_default() }
    }
}

/// Pieces of a body that become one.
///
/// Each is let go of at once, so that its memory serves the next: a long body is held once, and what is large
/// grows without a copy where the system can move pages. A single piece is not copied.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    first: Bytes,
    whole: Vec<u8>,
}

impl Gather {
    pub(crate) fn push(&mut self, chunk: Bytes) {
        if self.arrived().is_empty() {
            self.first = chunk;
            return;
        }
        let first = std::mem::take(&mut self.first);
        self.whole.reserve(first.len() + chunk.len());
        self.whole.extend_from_slice(&first);
        self.whole.extend_from_slice(&chunk);
    }

    /// What has come so far.
    pub(crate) fn arrived(&self) -> &[u8] {
        match self.whole.is_empty() {
            true => &self.first,
            false => &self.whole,
        }
    }

    pub(crate) fn finish(self) -> Bytes {
        match self.whole.is_empty() {
            true => self.first,
            false => self.whole.into(),
        }
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
            self.lease = None; // the connection's place is free as soon as the end is known
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

/// Also counts what comes, which may be endless although nothing is in it.
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
