//! Framing a protobuf watch: four bytes of length, big end first, then a watch event.

use bytes::Bytes;
use watchkeeper_core::EventKind;

use super::chunks::Chunks;
use super::{Cursor, Envelope, Wire};
use crate::{Frame, Limits, Malformed, Problem};

const PREFIX_BYTES: usize = 4;

/// Cuts the body of a watch response into events, chunk by chunk.
#[derive(Debug)]
pub struct WatchFrames {
    limits: Limits,
    intake: Chunks,
    /// The length of the frame whose prefix was read.
    wanted: Option<usize>,
}

impl WatchFrames {
    /// Frames with these limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, intake: Chunks::default(), wanted: None }
    }

    /// Takes the next chunk of the body. The frames of one chunk should be drained by
    /// [`next`](Self::next) before the next is pushed: otherwise the two are joined by a copy.
    pub fn push(&mut self, chunk: Bytes) {
        self.intake.push(chunk);
    }

    /// The next event, or `None` when another chunk is needed. Its object is the message of the
    /// kind, out of its envelope; of an ERROR, the message of a `Status`.
    ///
    /// # Errors
    /// Where the body is malformed or beyond a limit; nothing can be read after that.
    #[expect(clippy::should_implement_trait, reason = "it lends the frame, which an iterator cannot")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, Malformed> {
        let wanted = match self.wanted {
            Some(wanted) => wanted,
            None => {
                if !self.intake.take(PREFIX_BYTES) {
                    return Ok(None);
                }
                let prefix = *self.intake.taken().first_chunk().expect("four bytes were taken");
                let wanted = u32::from_be_bytes(prefix) as usize;
                let limit = self.limits.object_bytes;
                if wanted > limit {
                    let problem = Problem::TooLong { what: "watch event", limit };
                    return Err(Malformed { offset: self.intake.offset - PREFIX_BYTES as u64, problem });
                }
                self.wanted = Some(wanted);
                wanted
            }
        };
        if !self.intake.take(wanted) {
            return Ok(None);
        }
        self.wanted = None;
        let start = self.intake.offset - wanted as u64;
        read_event(self.intake.taken()).map(Some).map_err(|error| error.shifted(start))
    }

    /// Checks that the stream did not end within a frame.
    ///
    /// # Errors
    /// [`Problem::Truncated`] where it did.
    pub fn finish(self) -> Result<(), Malformed> {
        if self.wanted.is_none() && self.intake.is_empty() {
            return Ok(());
        }
        Err(Malformed { offset: self.intake.received(), problem: Problem::Truncated })
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
                let known = word.parse::<EventKind>().map_err(|_| {
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

/// A `RawExtension` that holds an enveloped object.
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
