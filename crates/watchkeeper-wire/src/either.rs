//! Dispatch over the encoding of a response.

use bytes::Bytes;
use watchkeeper_core::{Encoding, ListMeta, ObjectMeta, ObjectMetaBuilder};

use crate::{Annotations, Frame, Limits, Malformed, json, protobuf};

/// Splits a list in either encoding into items, chunk by chunk.
///
/// ```
/// use watchkeeper_core::Encoding;
/// use watchkeeper_wire::{Limits, ListSplitter};
///
/// let mut split = ListSplitter::new(Encoding::Json, Limits::DEFAULT);
/// split.push(br#"{"items":[{"a":1}],"metadata":{"resourceVersion":"7"}}"#.as_slice().into());
/// assert_eq!(split.next()?, Some(br#"{"a":1}"#.as_slice()));
/// assert_eq!(split.next()?, None);
/// assert_eq!(split.finish()?.resource_version, "7".into());
/// # Ok::<(), watchkeeper_wire::Malformed>(())
/// ```
#[derive(Debug)]
pub enum ListSplitter {
    /// For a JSON list.
    Json(json::ListSplitter),
    /// For a protobuf list.
    Protobuf(protobuf::ListSplitter),
}

impl ListSplitter {
    /// Creates a splitter for this encoding.
    pub fn new(encoding: Encoding, limits: Limits) -> Self {
        match encoding {
            Encoding::Json => Self::Json(json::ListSplitter::new(limits)),
            Encoding::Protobuf => Self::Protobuf(protobuf::ListSplitter::new(limits)),
        }
    }

    /// Adds the next chunk of the body.
    pub fn push(&mut self, chunk: Bytes) {
        match self {
            Self::Json(split) => split.push(chunk),
            Self::Protobuf(split) => split.push(chunk),
        }
    }

    /// Returns the next item, or `None` if another chunk is needed.
    ///
    /// # Errors
    /// If the body is malformed or exceeds a limit. The splitter cannot be used after that.
    #[expect(clippy::should_implement_trait, reason = "lends the item, which an iterator cannot")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Malformed> {
        match self {
            Self::Json(split) => split.next(),
            Self::Protobuf(split) => split.next(),
        }
    }

    /// Returns the metadata of the list, after the whole body has been pushed.
    ///
    /// # Errors
    /// If the body is incomplete.
    pub fn finish(self) -> Result<ListMeta, Malformed> {
        match self {
            Self::Json(split) => split.finish(),
            Self::Protobuf(split) => split.finish(),
        }
    }
}

/// Splits a watch response in either encoding into events, chunk by chunk.
#[derive(Debug)]
pub enum WatchFrames {
    /// For a JSON watch.
    Json(json::WatchFrames),
    /// For a protobuf watch.
    Protobuf(protobuf::WatchFrames),
}

impl WatchFrames {
    /// Creates a splitter for this encoding.
    pub fn new(encoding: Encoding, limits: Limits) -> Self {
        match encoding {
            Encoding::Json => Self::Json(json::WatchFrames::new(limits)),
            Encoding::Protobuf => Self::Protobuf(protobuf::WatchFrames::new(limits)),
        }
    }

    /// Adds the next chunk of the body.
    pub fn push(&mut self, chunk: Bytes) {
        match self {
            Self::Json(frames) => frames.push(chunk),
            Self::Protobuf(frames) => frames.push(chunk),
        }
    }

    /// Returns the next event, or `None` if another chunk is needed.
    ///
    /// # Errors
    /// If the body is malformed or exceeds a limit. The splitter cannot be used after that.
    #[expect(clippy::should_implement_trait, reason = "lends the frame, which an iterator cannot")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, Malformed> {
        match self {
            Self::Json(frames) => frames.next(),
            Self::Protobuf(frames) => frames.next(),
        }
    }

    /// Checks that the stream did not end within an event.
    ///
    /// # Errors
    /// If it did.
    pub fn finish(self) -> Result<(), Malformed> {
        match self {
            Self::Json(frames) => frames.finish(),
            Self::Protobuf(frames) => frames.finish(),
        }
    }
}

/// Parses the metadata of an object in either encoding.
///
/// # Errors
/// As [`json::read_object_meta`] and [`protobuf::read_object_meta`].
pub fn read_object_meta(
    encoding: Encoding,
    object: &[u8],
    annotations: Annotations,
    builder: &mut ObjectMetaBuilder,
) -> Result<ObjectMeta, Malformed> {
    match encoding {
        Encoding::Json => json::read_object_meta(object, annotations, builder),
        Encoding::Protobuf => protobuf::read_object_meta(object, annotations, builder),
    }
}
