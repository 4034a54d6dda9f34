//! Splits a protobuf list into items while it arrives.
//!
//! Input: the chunks of a response body, in any sizes.
//! Output: the message of each item, borrowed from the chunk if it has the whole item.
//!
//! Items are delimited by their lengths and not parsed, so the cost does not depend on their content.

use bytes::Bytes;
use watchkeeper_core::ListMeta;

use super::chunks::{Chunks, Header};
use super::envelope::read_type;
use super::{Cursor, MAGIC, Wire};
use crate::{Limits, Malformed, Problem};

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
/// assert_eq!(split.finish()?.resource_version, "42".into());
/// # Ok::<(), watchkeeper_wire::Malformed>(())
/// ```
#[derive(Debug)]
pub struct ListSplitter {
    limits: Limits,
    state: State,
    chunks: Chunks,
    /// Bytes of the list message left after the current step.
    list_left: u64,
    seen_list: bool,
    end: ListMeta,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Magic,
    /// At a field of the envelope or, while `list_left` is not 0, of the list.
    Header,
    /// In a field to be read.
    Field(Part, usize),
    /// In a field to be skipped.
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
    /// Creates a splitter with these limits.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: State::Magic,
            chunks: Chunks::default(),
            list_left: 0,
            seen_list: false,
            end: ListMeta::default(),
        }
    }

    /// Adds the next chunk of the body. Drain [`next`](Self::next) first: otherwise the two chunks are
    /// joined by a copy.
    pub fn push(&mut self, chunk: Bytes) {
        self.chunks.push(chunk);
    }

    /// Returns the next item, or `None` if another chunk is needed.
    ///
    /// # Errors
    /// If the body is malformed or exceeds a limit. The splitter cannot be used after that.
    #[expect(clippy::should_implement_trait, reason = "lends the item, which an iterator cannot")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Malformed> {
        loop {
            match self.state {
                State::Magic => {
                    if !self.chunks.take(MAGIC.len()) {
                        return Ok(None);
                    }
                    if self.chunks.taken() != MAGIC {
                        return Err(Malformed { offset: 0, problem: Problem::NoMagic });
                    }
                    self.state = State::Header;
                }
                State::Header => match self.chunks.take_header()? {
                    Some(header) => self.state = self.enter(&header)?,
                    None => return Ok(None),
                },
                State::Skip(left) => match self.chunks.skip(left) {
                    0 => self.state = State::Header,
                    left => {
                        self.state = State::Skip(left);
                        return Ok(None);
                    }
                },
                State::Field(part, length) => {
                    if !self.chunks.take(length) {
                        return Ok(None);
                    }
                    self.state = State::Header;
                    if part == Part::Item {
                        return Ok(Some(self.chunks.taken()));
                    }
                    let start = self.chunks.offset - length as u64;
                    self.read_field(part).map_err(|error| error.shifted(start))?;
                }
            }
        }
    }

    /// Returns the metadata of the list, after the whole body has been pushed.
    ///
    /// # Errors
    /// [`Problem::Truncated`] if the body is incomplete.
    pub fn finish(self) -> Result<ListMeta, Malformed> {
        let between_fields = self.state == State::Header && self.chunks.is_empty() && self.list_left == 0;
        if between_fields && self.seen_list {
            return Ok(self.end);
        }
        Err(Malformed { offset: self.chunks.received(), problem: Problem::Truncated })
    }

    /// Returns the state for the field after a header.
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
        let mut cursor = Cursor::new(self.chunks.taken());
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
                let name = String::from_utf8_lossy(self.chunks.taken());
                if !name.is_empty() {
                    let problem = Problem::UnknownContentEncoding(name.into_owned());
                    return Err(Malformed { offset: 0, problem });
                }
            }
            Part::Metadata => {
                while let Some(tag) = cursor.tag()? {
                    match (tag.field, tag.wire) {
                        (2, Wire::Bytes) => self.end.resource_version = cursor.text()?.into(),
                        (3, Wire::Bytes) => {
                            let token = cursor.text()?;
                            self.end.continue_token = (!token.is_empty()).then(|| token.to_owned());
                        }
                        (4, Wire::Varint) => {
                            self.end.remaining_item_count = u64::try_from(cursor.varint()? as i64).ok();
                        }
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
