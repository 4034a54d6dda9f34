//! Framing a JSON watch: one object an event, mostly on a line of its own.
//!
//! From: the chunks of a response body, in any sizes.
//! To:   the kind of each event and the bytes of its object, a slice of the chunk where the chunk has
//!       all of the event.
//!
//! Objects are not parsed: what is known of one is what is known of a list item.

use std::ops::Range;

use bytes::Bytes;
use watchkeeper_core::EventKind;

use super::stream::{Place, Stream, ValueLimit};
use super::{Keys, Reader, Shape};
use crate::{Frame, Limits, Malformed, Problem};

/// Cuts the body of a watch response into events, chunk by chunk.
///
/// Events follow each other directly or with any white space between them; `type` and `object` come
/// in either order, and other fields are passed over.
///
/// ```
/// use watchkeeper_core::EventKind;
/// use watchkeeper_wire::{Limits, json};
///
/// let mut frames = json::WatchFrames::new(Limits::DEFAULT);
/// frames.push(bytes::Bytes::from_static(br#"{"type":"ADDED","object":{"kind":"Pod"}}"#));
/// let frame = frames.next()?.expect("the event is complete");
/// assert_eq!(frame.kind, EventKind::Added);
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
    /// Frames with these limits. [`Limits::depth`] counts from each event's object;
    /// [`Limits::envelope_bytes`] bounds what an event has beside it.
    pub fn new(limits: Limits) -> Self {
        Self { limits, stream: Stream::default(), failed: None }
    }

    /// Takes the next chunk of the body. The frames of one chunk should be drained by
    /// [`next`](Self::next) before the next is pushed: otherwise the two are joined by a copy.
    pub fn push(&mut self, chunk: Bytes) {
        self.stream.push(chunk);
    }

    /// The next event, or `None` when another chunk is needed.
    ///
    /// # Errors
    /// Where the body is malformed or beyond a limit; nothing can be read after that, and the error
    /// is returned again.
    #[expect(clippy::should_implement_trait, reason = "it lends the frame, which an iterator cannot")]
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
    /// [`Problem::Truncated`] where it did, or what was wrong before.
    pub fn finish(self) -> Result<(), Malformed> {
        match self.failed {
            Some(error) => Err(error),
            None if self.stream.within_value() => Err(self.stream.error(Problem::Truncated)),
            None => Ok(()),
        }
    }

    fn advance(&mut self) -> Result<Option<(EventKind, Place)>, Malformed> {
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

    fn read_event(&self, event: &Place) -> Result<(EventKind, Range<usize>), Malformed> {
        let mut reader = Reader::new(self.stream.bytes(event), Limits { depth: usize::MAX, ..self.limits });
        let (mut kind, mut object, mut keys) = (None, None, Keys::default());
        reader.begin_object()?;
        while let Some(key) = reader.next_key_bytes()? {
            keys.add(&key, reader.key_offset())?;
            if reader.null_comes()? {
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

fn read_kind(reader: &mut Reader<'_>) -> Result<EventKind, Malformed> {
    reader.peek()?;
    let place = reader.offset();
    let word = reader.string()?;
    let problem = || Problem::bad_value("the type of a watch event", &word);
    word.parse().map_err(|_| Malformed::new(place, problem()))
}
