//! Splitting a protobuf list into its items while it is still arriving.
//!
//! From: the chunks of a response body, in any sizes.
//! To:   the message of each item, a slice of its chunk where the chunk has all of it.
//!
//! Lengths stand before contents, so items are handed out without being looked into, and the time
//! for a list does not depend on what is in it.
//!
//! - L1: the carry buffer never holds more than one step: a header of at most [`HEADER_BYTES`], or
//!   one field within its limit.

use bytes::{Buf, Bytes};

use super::envelope::read_type;
use super::{Cursor, MAGIC, Wire};
use crate::{Limits, ListEnd, Malformed, Problem};

/// A tag and a length, ten bytes each at the most.
const HEADER_BYTES: usize = 20;

/// Splits a list into items, chunk by chunk.
///
/// ```
/// use watchkeeper_wire::{Limits, protobuf};
///
/// let body = protobuf::wrap("v1", "PodList", b"\x0a\x04\x12\x0242\x12\x03abc\x12\x03def");
/// let mut split = protobuf::ListSplitter::new(Limits::DEFAULT);
/// let mut items = Vec::new();
/// for chunk in body.chunks(5) {
///     split.push(bytes::Bytes::copy_from_slice(chunk));
///     while let Some(item) = split.next()? {
///         items.push(item.to_vec());
///     }
/// }
/// assert_eq!(items, [b"abc", b"def"]);
/// assert_eq!(split.finish()?.version, "42".into());
/// # Ok::<(), watchkeeper_wire::Malformed>(())
/// ```
#[derive(Debug)]
pub struct ListSplitter {
    limits: Limits,
    state: State,
    intake: Chunks,
    /// Bytes of the list message that are still to come after the current step.
    list_left: u64,
    seen_list: bool,
    end: ListEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Magic,
    /// Before a field of the envelope or, while `list_left` is not 0, of the list.
    Header,
    /// Within a field that is wanted whole.
    Field(Part, usize),
    /// Within a field that nobody wants.
    Skip(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Type,
    Metadata,
    Item,
    ContentEncoding,
}

impl ListSplitter {
    /// Splits with these limits.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: State::Magic,
            intake: Chunks::default(),
            list_left: 0,
            seen_list: false,
            end: ListEnd::default(),
        }
    }

    /// Takes the next chunk of the body. The items of one chunk should be drained by
    /// [`next`](Self::next) before the next is pushed: otherwise the two are joined by a copy.
    pub fn push(&mut self, chunk: Bytes) {
        self.intake.push(chunk);
    }

    /// The next item, or `None` when another chunk is needed.
    ///
    /// # Errors
    /// Where the body is malformed or beyond a limit; nothing can be read after that.
    #[expect(clippy::should_implement_trait, reason = "it lends the item, which an iterator cannot")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Malformed> {
        loop {
            match self.state {
                State::Magic => {
                    if !self.intake.take(MAGIC.len()) {
                        return Ok(None);
                    }
                    if self.intake.taken() != MAGIC {
                        return Err(Malformed { offset: 0, problem: Problem::NoMagic });
                    }
                    self.state = State::Header;
                }
                State::Header => match self.intake.take_header()? {
                    Some(header) => self.state = self.enter(&header)?,
                    None => return Ok(None),
                },
                State::Skip(left) => match self.intake.skip(left) {
                    0 => self.state = State::Header,
                    left => {
                        self.state = State::Skip(left);
                        return Ok(None);
                    }
                },
                State::Field(part, length) => {
                    if !self.intake.take(length) {
                        return Ok(None);
                    }
                    self.state = State::Header;
                    if part == Part::Item {
                        return Ok(Some(self.intake.taken()));
                    }
                    let start = self.intake.offset - length as u64;
                    self.read_field(part).map_err(|error| error.shifted(start))?;
                }
            }
        }
    }

    /// What stood around the items, once the body has ended.
    ///
    /// # Errors
    /// [`Problem::Truncated`] where the body ended too early.
    pub fn finish(self) -> Result<ListEnd, Malformed> {
        let between_fields = self.state == State::Header && self.intake.is_empty() && self.list_left == 0;
        if between_fields && self.seen_list {
            return Ok(self.end);
        }
        Err(Malformed { offset: self.intake.received(), problem: Problem::Truncated })
    }

    /// What to do with the field that a header announces.
    fn enter(&mut self, header: &Header) -> Result<State, Malformed> {
        let in_list = self.list_left > 0;
        let fail = |problem| Err(Malformed { offset: header.offset, problem });
        if in_list {
            let whole = header.size.saturating_add(header.length);
            if whole > self.list_left {
                let left = (self.list_left.saturating_sub(header.size)) as usize;
                return fail(Problem::LengthPastEnd { length: header.length, left });
            }
            self.list_left -= whole;
        }
        let part = match (in_list, header.field) {
            (false, 1) => Part::Type,
            (false, 3) => Part::ContentEncoding,
            (true, 1) => Part::Metadata,
            (true, 2) => Part::Item,
            (false, 2) if header.wire == Wire::Bytes => {
                if std::mem::replace(&mut self.seen_list, true) {
                    return fail(Problem::ScatteredField { field: 2 });
                }
                self.list_left = header.length;
                return Ok(State::Header);
            }
            (false, 2) => return fail(Problem::WrongWireType { field: 2, found: header.wire as u8 }),
            _ => return Ok(State::Skip(header.length)),
        };
        if header.wire != Wire::Bytes {
            return fail(Problem::WrongWireType { field: header.field, found: header.wire as u8 });
        }
        let (what, limit) = match part {
            Part::Item => ("list item", self.limits.object_bytes),
            _ => ("metadata of the list", self.limits.envelope_bytes),
        };
        match usize::try_from(header.length) {
            Ok(length) if length <= limit => Ok(State::Field(part, length)),
            _ => fail(Problem::TooLong { what, limit }),
        }
    }

    fn read_field(&mut self, part: Part) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(self.intake.taken());
        match part {
            Part::Item => {}
            Part::Type => {
                let (api_version, kind) = read_type(cursor)?;
                if kind == "Status" {
                    return Err(Malformed { offset: 0, problem: Problem::Expected("a list, not a Status") });
                }
                (self.end.api_version, self.end.kind) = (api_version.to_owned(), kind.to_owned());
            }
            Part::ContentEncoding => {
                let name = String::from_utf8_lossy(self.intake.taken());
                if !name.is_empty() {
                    let problem = Problem::UnknownContentEncoding(name.into_owned());
                    return Err(Malformed { offset: 0, problem });
                }
            }
            Part::Metadata => {
                while let Some(tag) = cursor.tag()? {
                    match (tag.field, tag.wire) {
                        (2, Wire::Bytes) => self.end.version = cursor.text()?.into(),
                        (3, Wire::Bytes) => {
                            let token = cursor.text()?;
                            self.end.continue_token = (!token.is_empty()).then(|| token.to_owned());
                        }
                        (4, Wire::Varint) => self.end.remaining = Some(cursor.varint()? as i64),
                        (2 | 3, _) => cursor.expect(tag, Wire::Bytes)?,
                        (4, _) => cursor.expect(tag, Wire::Varint)?,
                        _ => cursor.skip(tag.wire)?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// A tag and, where the payload is not in it already, how long the payload is.
#[derive(Debug)]
struct Header {
    field: u32,
    wire: Wire,
    /// Bytes of the payload that follow.
    length: u64,
    /// Bytes of the header itself.
    size: u64,
    offset: u64,
}

/// The chunks of a stream, from which steps of known length are taken.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// What has arrived and was not looked at yet.
    chunk: Bytes,
    /// L1: the beginning of a step whose end has not arrived, or the step that was taken.
    carry: Vec<u8>,
    /// The step that was taken, if a single chunk had all of it.
    taken: Option<Bytes>,
    /// The carry holds the step that was taken.
    spent: bool,
    /// Bytes of the stream that were taken.
    pub(super) offset: u64,
}

impl Chunks {
    pub(super) fn push(&mut self, chunk: Bytes) {
        self.chunk = match self.chunk.is_empty() {
            true => chunk,
            false => [&self.chunk[..], &chunk[..]].concat().into(),
        };
    }

    /// Takes a step of this length, if all of it has arrived.
    pub(super) fn take(&mut self, length: usize) -> bool {
        self.release();
        if self.carry.is_empty() && self.chunk.len() >= length {
            self.taken = Some(self.chunk.split_to(length));
        } else {
            let step = (length - self.carry.len()).min(self.chunk.len());
            self.carry.extend_from_slice(&self.chunk[..step]);
            self.chunk.advance(step);
            if self.carry.len() < length {
                return false;
            }
            self.taken = None;
            self.spent = true;
        }
        self.offset += length as u64;
        true
    }

    /// The step that was taken last.
    pub(super) fn taken(&self) -> &[u8] {
        self.taken.as_deref().unwrap_or(&self.carry)
    }

    /// Whether nothing has arrived that was not taken.
    pub(super) fn is_empty(&self) -> bool {
        self.chunk.is_empty() && (self.spent || self.carry.is_empty())
    }

    /// How many bytes have arrived.
    pub(super) fn received(&self) -> u64 {
        let waiting = if self.spent { 0 } else { self.carry.len() };
        self.offset + (waiting + self.chunk.len()) as u64
    }

    /// Passes over bytes, and returns how many are still to be passed over.
    fn skip(&mut self, left: u64) -> u64 {
        self.release();
        let step = left.min(self.chunk.len() as u64);
        self.chunk.advance(step as usize);
        self.offset += step;
        left - step
    }

    fn take_header(&mut self) -> Result<Option<Header>, Malformed> {
        self.release();
        let mut window = [0; HEADER_BYTES];
        let carried = self.carry.len();
        let fresh = self.chunk.len().min(HEADER_BYTES - carried);
        window[..carried].copy_from_slice(&self.carry);
        window[carried..carried + fresh].copy_from_slice(&self.chunk[..fresh]);
        let mut cursor = Cursor::new(&window[..carried + fresh]);
        let header = match read_header(&mut cursor) {
            Ok(Some(header)) => header,
            Ok(None) => return Ok(None),
            Err(error) if error.problem == Problem::Truncated => {
                self.carry.extend_from_slice(&self.chunk);
                self.chunk.clear();
                return Ok(None);
            }
            Err(error) => return Err(error.shifted(self.offset)),
        };
        self.chunk.advance(cursor.position() - carried);
        self.carry.clear();
        self.offset += cursor.position() as u64;
        Ok(Some(Header { offset: self.offset, size: cursor.position() as u64, ..header }))
    }

    /// Lets go of the step that was taken.
    fn release(&mut self) {
        self.taken = None;
        if std::mem::take(&mut self.spent) {
            self.carry.clear();
        }
    }
}

fn read_header(cursor: &mut Cursor<'_>) -> Result<Option<Header>, Malformed> {
    let Some(tag) = cursor.tag()? else { return Ok(None) };
    let length = match tag.wire {
        Wire::Bytes => cursor.varint()?,
        Wire::Varint => cursor.varint().map(|_| 0)?,
        Wire::Fixed64 => 8,
        Wire::Fixed32 => 4,
    };
    Ok(Some(Header { field: tag.field, wire: tag.wire, length, size: 0, offset: 0 }))
}
