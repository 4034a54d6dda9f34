//! Splits a JSON watch response into events.
//!
//! Input: the chunks of a response body, in any sizes.
//! Output: the type of each event and the bytes of its object, borrowed from the chunk if it has the
//! whole event.
//!
//! Objects are checked only as far as list items are.

use std::ops::Range;

use bytes::Bytes;
use watchkeeper_core::WatchEventType;

use super::stream::{Stream, ValueLimit, ValueRange};
use super::{Keys, Reader, Shape};
use crate::{Frame, Limits, Malformed, Problem};

/// Splits a watch response into events, chunk by chunk.
///
/// Events may be separated by whitespace. `type` and `object` can have any order, and other fields
/// are skipped.
///
/// ```
/// use watchkeeper_core::WatchEventType;
/// use watchkeeper_wire::{Limits, json};
///
/// let mut frames = json::WatchFrames::new(Limits::DEFAULT);
/// frames.push(bytes::Bytes::from_static(br#"{"type":"ADDED","object":{"kind":"Pod"}}"#));
/// let frame = frames.next()?.expect("the event is complete");
/// assert_eq!(frame.kind, WatchEventType::Added);
/// assert_eq!(frame.object, br#"{"kind":"Pod"}"#);
/// assert_eq!(frames.next()?, None);
/// frames.finish()?;
/// # Ok::<(), watchkeeper_wire::Malformed>(())
/// ```
#[derive(Debug)]
pub struct WatchFrames {
    limits: Limits,
    stream: Stream,
    failed: Option<Malformed>,
}

impl WatchFrames {
    /// Creates a splitter. [`Limits::depth`] counts from each event's object;
    /// [`Limits::envelope_bytes`] limits the rest of an event.
    pub fn new(limits: Limits) -> Self {
        Self { limits, stream: Stream::default(), failed: None }
    }

    /// Adds the next chunk of the body. Drain [`next`](Self::next) first: otherwise the two chunks are
    /// joined by a copy.
    pub fn push(&mut self, chunk: Bytes) {
        self.stream.push(chunk);
    }

    /// Returns the next event, or `None` if another chunk is needed.
    ///
    /// # Errors
    /// If the body is malformed or exceeds a limit. Later calls return the same error.
    #[expect(clippy::should_implement_trait, reason = "lends the frame, which an iterator cannot")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, Malformed> {
        match self.advance() {
            Ok(Some((kind, object))) => Ok(Some(Frame { kind, object: self.stream.bytes(&object) })),
            Ok(None) => {
                self.stream.release();
                Ok(None)
            }
            Err(error) => {
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Checks that the stream did not end within an event.
    ///
    /// # Errors
    /// [`Problem::Truncated`] if it did, or an earlier error.
    pub fn finish(self) -> Result<(), Malformed> {
        match self.failed {
            Some(error) => Err(error),
            None if self.stream.within_value() => Err(self.stream.error(Problem::Truncated)),
            None => Ok(()),
        }
    }

    fn advance(&mut self) -> Result<Option<(WatchEventType, ValueRange)>, Malformed> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if !self.stream.within_value() {
            match self.stream.token() {
                Some(b'{') => {}
                Some(_) => return Err(self.stream.error(Problem::Expected("a watch event"))),
                None => return Ok(None),
            }
        }
        let Limits { object_bytes, envelope_bytes, depth } = self.limits;
        let bytes = object_bytes.saturating_add(envelope_bytes);
        let limit = ValueLimit { what: "watch event", named: bytes, bytes, depth, around: 1 };
        let Some(event) = self.stream.value(limit)? else { return Ok(None) };
        let start = self.stream.value_start();
        let (kind, object) = self.read_event(&event).map_err(|error| error.shifted(start))?;
        Ok(Some((kind, event.part(object))))
    }

    fn read_event(&self, event: &ValueRange) -> Result<(WatchEventType, Range<usize>), Malformed> {
        let mut reader = Reader::new(self.stream.bytes(event), Limits { depth: usize::MAX, ..self.limits });
        let (mut kind, mut object, mut keys) = (None, None, Keys::default());
        reader.begin_object()?;
        while let Some(key) = reader.next_key_bytes()? {
            keys.add(&key, reader.key_offset())?;
            if reader.take_null()? {
                continue;
            }
            match &*key {
                b"type" => kind = Some(read_kind(&mut reader)?),
                b"object" => {
                    if reader.peek()? != Shape::Object {
                        return Err(reader.error(Problem::Expected("an object")));
                    }
                    object = Some(reader.span()?);
                }
                _ => reader.skip()?,
            }
        }
        let missing = |what| reader.error(Problem::Expected(what));
        let kind = kind.ok_or_else(|| missing("the type of a watch event"))?;
        let object = object.ok_or_else(|| missing("the object of a watch event"))?;
        if object.len() > self.limits.object_bytes {
            let problem =
                Problem::TooLong { what: "object of a watch event", limit: self.limits.object_bytes };
            return Err(Malformed::new(object.start, problem));
        }
        Ok((kind, object))
    }
}

fn read_kind(reader: &mut Reader<'_>) -> Result<WatchEventType, Malformed> {
    reader.peek()?;
    let offset = reader.offset();
    let text = reader.string()?;
    let problem = || Problem::bad_value("the type of a watch event", &text);
    text.parse().map_err(|_| Malformed::new(offset, problem()))
}
