//! Either encoding: what is done to a response whose encoding is known only when it arrives.

use bytes::Bytes;
use watchkeeper_core::{Encoding, Head, HeadBuilder};

use crate::{Annotations, Frame, Limits, ListEnd, Malformed, json, protobuf};

/// Splits a list of either encoding into items, chunk by chunk.
///
/// ```
/// use watchkeeper_core::Encoding;
/// use watchkeeper_wire::{Limits, ListSplitter};
///
/// let mut split = ListSplitter::new(Encoding::Json, Limits::DEFAULT);
/// split.push(br#"{"items":[{"a":1}],"metadata":{"resourceVersion":"7"}}"#.as_slice().into());
/// assert_eq!(split.next()?, Some(br#"{"a":1}"#.as_slice()));
/// assert_eq!(split.next()?, None);
/// assert_eq!(split.finish()?.version, "7".into());
/// # Ok::<(), watchkeeper_wire::Malformed>(())
/// ```
#[derive(Debug)]
pub enum ListSplitter {
    /// Of a JSON list.
    Json(json::ListSplitter),
    /// Of a protobuf list.
    Protobuf(protobuf::ListSplitter),
}

impl ListSplitter {
    /// Splits a list of this encoding with these limits.
    pub fn new(encoding: Encoding, limits: Limits) -> Self {
        match encoding {
            Encoding::Json => Self::Json(json::ListSplitter::new(limits)),
            Encoding::Protobuf => Self::Protobuf(protobuf::ListSplitter::new(limits)),
        }
    }

    /// Takes the next chunk of the body.
    pub fn push(&mut self, chunk: Bytes) {
        match self {
            Self::Json(split) => split.push(chunk),
            Self::Protobuf(split) => split.push(chunk),
        }
    }

    /// The next item, or `None` when another chunk is needed.
    ///
    /// # Errors
    /// Where the body is malformed or beyond a limit; nothing can be read after that.
    #[expect(clippy::should_implement_trait, reason = "it lends the item, which an iterator cannot")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Malformed> {
        match self {
            Self::Json(split) => split.next(),
            Self::Protobuf(split) => split.next(),
        }
    }

    /// What stood around the items, once the body has ended.
    ///
    /// # Errors
    /// Where the body ended too early.
    pub fn finish(self) -> Result<ListEnd, Malformed> {
        match self {
            Self::Json(split) => split.finish(),
            Self::Protobuf(split) => split.finish(),
        }
    }
}

/// Cuts the body of a watch of either encoding into events, chunk by chunk.
#[derive(Debug)]
pub enum WatchFrames {
    /// Of a JSON watch.
    Json(json::WatchFrames),
    /// Of a protobuf watch.
    Protobuf(protobuf::WatchFrames),
}

impl WatchFrames {
    /// Frames a watch of this encoding with these limits.
    pub fn new(encoding: Encoding, limits: Limits) -> Self {
        match encoding {
            Encoding::Json => Self::Json(json::WatchFrames::new(limits)),
            Encoding::Protobuf => Self::Protobuf(protobuf::WatchFrames::new(limits)),
        }
    }

    /// Takes the next chunk of the body.
    pub fn push(&mut self, chunk: Bytes) {
        match self {
            Self::Json(frames) => frames.push(chunk),
            Self::Protobuf(frames) => frames.push(chunk),
        }
    }

    /// The next event, or `None` when another chunk is needed.
    ///
    /// # Errors
    /// Where the body is malformed or beyond a limit; nothing can be read after that.
    #[expect(clippy::should_implement_trait, reason = "it lends the frame, which an iterator cannot")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, Malformed> {
        match self {
            Self::Json(frames) => frames.next(),
            Self::Protobuf(frames) => frames.next(),
        }
    }

    /// Checks that the stream did not end within an event.
    ///
    /// # Errors
    /// Where it did.
    pub fn finish(self) -> Result<(), Malformed> {
        match self {
            Self::Json(frames) => frames.finish(),
            Self::Protobuf(frames) => frames.finish(),
        }
    }
}

/// Reads the head of an object of either encoding.
///
/// # Errors
/// As [`json::read_head`] and [`protobuf::read_head`].
pub fn read_head(
    encoding: Encoding,
    object: &[u8],
    annotations: Annotations,
    head: &mut HeadBuilder,
) -> Result<Head, Malformed> {
    match encoding {
        Encoding::Json => json::read_head(object, annotations, head),
        Encoding::Protobuf => protobuf::read_head(object, annotations, head),
    }
}
