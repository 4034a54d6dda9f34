//! Splits a protobuf watch response into events, each with a four-byte big-endian length prefix.

use bytes::Bytes;
use watchkeeper_core::WatchEventType;

use super::chunks::Chunks;
use super::{Cursor, Envelope, Wire};
use crate::{Frame, Limits, Malformed, Problem};

const PREFIX_BYTES: usize = 4;

/// Splits a watch response into events, chunk by chunk.
#[derive(Debug)]
pub struct WatchFrames {
    limits: Limits,
    chunks: Chunks,
    /// The length of the current frame, once its prefix has been read.
    wanted: Option<usize>,
}

impl WatchFrames {
    /// Creates a splitter with these limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, chunks: Chunks::default(), wanted: None }
    }

    /// Adds the next chunk of the body. Drain [`next`](Self::next) first: otherwise the two chunks are
    /// joined by a copy.
    pub fn push(&mut self, chunk: Bytes) {
        self.chunks.push(chunk);
    }

    /// Returns the next event, or `None` if another chunk is needed. Its object is the message of the
    /// kind without its envelope; a `Status` for an ERROR event.
    ///
    /// # Errors
    /// If the body is malformed or exceeds a limit. The splitter cannot be used after that.
    #[expect(clippy::should_implement_trait, reason = "lends the frame, which an iterator cannot")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, Malformed> {
        let wanted = match self.wanted {
            Some(wanted) => wanted,
            None => {
                if !self.chunks.take(PREFIX_BYTES) {
                    return Ok(None);
                }
                let prefix = *self.chunks.taken().first_chunk().expect("took four bytes");
                let wanted = u32::from_be_bytes(prefix) as usize;
                let limit = self.limits.object_bytes;
                if wanted > limit {
                    let problem = Problem::TooLong { what: "watch event", limit };
                    return Err(Malformed { offset: self.chunks.offset - PREFIX_BYTES as u64, problem });
                }
                self.wanted = Some(wanted);
                wanted
            }
        };
        if !self.chunks.take(wanted) {
            return Ok(None);
        }
        self.wanted = None;
        let start = self.chunks.offset - wanted as u64;
        read_event(self.chunks.taken()).map(Some).map_err(|error| error.shifted(start))
    }

    /// Checks that the stream did not end within a frame.
    ///
    /// # Errors
    /// [`Problem::Truncated`] if it did.
    pub fn finish(self) -> Result<(), Malformed> {
        if self.wanted.is_none() && self.chunks.is_empty() {
            return Ok(());
        }
        Err(Malformed { offset: self.chunks.received(), problem: Problem::Truncated })
    }
}

fn read_event(event: &[u8]) -> Result<Frame<'_>, Malformed> {
    let mut cursor = Cursor::new(event);
    let (mut kind, mut object) = (None, None);
    while let Some(tag) = cursor.tag()? {
        match (tag.field, tag.wire) {
            (1, Wire::Bytes) => {
                let at = cursor.offset();
                let word = cursor.text()?;
                let known = word.parse::<WatchEventType>().map_err(|_| {
                    let problem = Problem::BadValue {
                        expected: "the type of a watch event",
                        found: format!("{word:?}"),
                    };
                    Malformed::new(at, problem)
                })?;
                kind = Some(known);
            }
            (2, Wire::Bytes) => object = Some(read_raw(cursor.message()?)?),
            (1 | 2, _) => cursor.expect(tag, Wire::Bytes)?,
            _ => cursor.skip(tag.wire)?,
        }
    }
    let Some(kind) = kind else { return cursor.fail(Problem::Expected("the type of a watch event")) };
    let Some(object) = object else { return cursor.fail(Problem::Expected("the object of a watch event")) };
    Ok(Frame { kind, object })
}

/// Reads a `RawExtension` with an enveloped object.
fn read_raw(mut cursor: Cursor<'_>) -> Result<&[u8], Malformed> {
    let mut object = None;
    while let Some(tag) = cursor.tag()? {
        match (tag.field, tag.wire) {
            (1, Wire::Bytes) => {
                let body = cursor.bytes()?;
                let start = cursor.offset() - body.len();
                let envelope = Envelope::open(body).map_err(|error| error.shifted(start as u64))?;
                object = Some(envelope.message);
            }
            (1, _) => cursor.expect(tag, Wire::Bytes)?,
            _ => cursor.skip(tag.wire)?,
        }
    }
    match object {
        Some(object) => Ok(object),
        None => cursor.fail(Problem::Expected("the object of a watch event")),
    }
}
