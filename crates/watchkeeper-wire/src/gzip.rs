//! Streaming gzip decompression.
//!
//! Input: the chunks of a compressed response body, in any sizes.
//! Output: the chunks of the plain body, as early as possible.
//!
//! An API server ends a gzip member with every flush, so each event of a watch is a member. A body
//! has any number of members, and output never waits for the next one.
//!
//! - `gzip.Z1`: no call returns more than `chunk_bytes`, and no output is withheld: a highly
//!   compressed body takes many calls, not much memory.
//! - `gzip.Z2`: a member with a wrong checksum or length ends in an error. Its earlier output was
//!   returned unchecked.

use bytes::{Buf, Bytes};
use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::{Malformed, Problem};

/// A streaming decoder for a body of gzip members.
///
/// ```
/// use std::io::Write;
/// use bytes::Bytes;
/// use flate2::{Compression, write::GzEncoder};
/// use watchkeeper_wire::gzip::Gunzip;
///
/// let member = |text: &str| {
///     let mut member = GzEncoder::new(Vec::new(), Compression::fast());
///     member.write_all(text.as_bytes())?;
///     member.finish().map(Bytes::from)
/// };
/// let mut gunzip = Gunzip::default();
/// gunzip.push(member("one event\n")?);
/// assert_eq!(gunzip.next()?.as_deref(), Some(b"one event\n".as_slice()));
/// gunzip.push(member("another\n")?);
/// assert_eq!(gunzip.next()?.as_deref(), Some(b"another\n".as_slice()));
/// assert_eq!(gunzip.next()?, None);
/// gunzip.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Gunzip {
    state: State,
    input: Bytes,
    /// Offset of `input` in the body.
    offset: u64,
    inflate: Decompress,
    /// Checksum of the header, then of the data.
    crc: Crc,
    /// The output of one call (`gzip.Z1`).
    output: Vec<u8>,
    /// Whether the last call filled `output`, so that more output may be available without more input.
    full: bool,
}

/// The part of a member that is read next.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Member,
    Header(Header),
    /// Data that starts at this offset.
    Data(u64),
    Trailer {
        taken: usize,
        bytes: [u8; 8],
    },
    Failed(Malformed),
}

/// The position in a member's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    flags: u8,
    field: Field,
}

/// The fields of a header, in order. Most are optional, depending on the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// Position within magic, method, flags, time and system.
    Fixed(usize),
    ExtraLength {
        low: Option<u8>,
    },
    Extra {
        left: usize,
    },
    Name,
    Comment,
    Check {
        low: Option<u8>,
    },
}

const FIXED_BYTES: usize = 10;
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8]; // the third byte is the method, deflate
const HAS_CHECK: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

impl Gunzip {
    /// The default maximum size of a chunk returned by [`next`](Self::next).
    pub const CHUNK_BYTES: usize = 64 << 10;

    /// Creates a decoder that returns chunks of at most `chunk_bytes`, but at least one byte.
    pub fn new(chunk_bytes: usize) -> Self {
        Self {
            state: State::Member,
            input: Bytes::new(),
            offset: 0,
            inflate: Decompress::new(false),
            crc: Crc::new(),
            output: vec![0; chunk_bytes.max(1)],
            full: false,
        }
    }

    /// Adds the next chunk of the compressed body. Drain [`next`](Self::next) first: otherwise the
    /// two chunks are joined by a copy.
    pub fn push(&mut self, chunk: Bytes) {
        self.input = if self.input.is_empty() { chunk } else { [&*self.input, &*chunk].concat().into() };
    }

    /// Returns the next chunk of the plain body, never empty, or `None` if more input is needed.
    ///
    /// # Errors
    /// If the body is not gzip. Later calls return the same error.
    #[expect(clippy::should_implement_trait, reason = "`None` does not mean the end")]
    pub fn next(&mut self) -> Result<Option<Bytes>, Malformed> {
        self.advance().inspect_err(|error| self.state = State::Failed(error.clone()))
    }

    /// Checks that the body did not end within a member.
    ///
    /// # Errors
    /// [`Problem::Truncated`] if it did, or an earlier error.
    pub fn finish(self) -> Result<(), Malformed> {
        match self.state {
            State::Member if self.input.is_empty() => Ok(()),
            State::Failed(error) => Err(error),
            _ => {
                Err(Malformed { offset: self.offset + self.input.len() as u64, problem: Problem::Truncated })
            }
        }
    }

    fn advance(&mut self) -> Result<Option<Bytes>, Malformed> {
        loop {
            match &mut self.state {
                State::Failed(error) => return Err(error.clone()),
                State::Data(start) => {
                    let start = *start;
                    let output = self.inflate_some(start)?;
                    if output.is_some() || (self.input.is_empty() && self.state == State::Data(start)) {
                        return Ok(output);
                    }
                }
                _ if self.input.is_empty() => return Ok(None),
                State::Member => {
                    self.crc.reset();
                    self.state = State::Header(Header { flags: 0, field: Field::Fixed(0) });
                }
                State::Header(header) => {
                    let byte = self.input[0];
                    let next = header.follow(byte, &self.crc);
                    let next = next.map_err(|problem| Malformed { offset: self.offset, problem })?;
                    if !matches!(header.field, Field::Check { .. }) {
                        self.crc.update(&[byte]);
                    }
                    self.take(1);
                    self.state = match next {
                        Some(header) => State::Header(header),
                        None => {
                            self.crc.reset();
                            self.inflate.reset(false);
                            self.full = false;
                            State::Data(self.offset)
                        }
                    };
                }
                State::Trailer { taken, bytes } => {
                    let more = self.input.len().min(bytes.len() - *taken);
                    bytes[*taken..*taken + more].copy_from_slice(&self.input[..more]);
                    *taken += more;
                    let complete = (*taken == bytes.len()).then_some(*bytes);
                    self.take(more);
                    if let Some(trailer) = complete {
                        self.check(trailer)?;
                        self.state = State::Member;
                    }
                }
            }
        }
    }

    /// Decompresses input into `output`, of data that starts at `start`.
    fn inflate_some(&mut self, start: u64) -> Result<Option<Bytes>, Malformed> {
        if self.input.is_empty() && !self.full {
            return Ok(None);
        }
        let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(&self.input, &mut self.output, FlushDecompress::None);
        let consumed = (self.inflate.total_in() - before_in) as usize;
        let produced = (self.inflate.total_out() - before_out) as usize;
        let corrupt = || Malformed { offset: start, problem: Problem::CorruptDeflate };
        let status = status.map_err(|_| corrupt())?;
        self.take(consumed);
        self.full = produced == self.output.len();
        match status {
            Status::StreamEnd => self.state = State::Trailer { taken: 0, bytes: [0; 8] },
            // No progress despite input and free output: the data is corrupt.
            Status::Ok | Status::BufError if consumed == 0 && produced == 0 && !self.input.is_empty() => {
                return Err(corrupt());
            }
            Status::Ok | Status::BufError => {}
        }
        let output = &self.output[..produced];
        self.crc.update(output);
        Ok((produced > 0).then(|| Bytes::copy_from_slice(output)))
    }

    /// Checks the output against the member's trailer (`gzip.Z2`).
    fn check(&self, trailer: [u8; 8]) -> Result<(), Malformed> {
        let found = u64::from(self.crc.amount()) << 32 | u64::from(self.crc.sum());
        if u64::from_le_bytes(trailer) == found {
            Ok(())
        } else {
            Err(Malformed { offset: self.offset - 8, problem: Problem::WrongChecksum })
        }
    }

    fn take(&mut self, bytes: usize) {
        self.input.advance(bytes);
        self.offset += bytes as u64;
    }
}

/// Returns chunks of at most [`Gunzip::CHUNK_BYTES`].
impl Default for Gunzip {
    fn default() -> Self {
        Self::new(Self::CHUNK_BYTES)
    }
}

impl Header {
    /// Advances by one byte; `None` after the last byte of the header.
    fn follow(self, byte: u8, crc: &Crc) -> Result<Option<Self>, Problem> {
        let Self { mut flags, field } = self;
        let expected = |is: bool| if is { Ok(()) } else { Err(Problem::Expected("a gzip member")) };
        let field = match field {
            Field::Fixed(at) => {
                if let Some(due) = MAGIC.get(at) {
                    expected(byte == *due)?;
                } else if at == MAGIC.len() {
                    expected(byte & RESERVED == 0)?;
                    flags = byte;
                }
                if at + 1 < FIXED_BYTES {
                    Some(Field::Fixed(at + 1))
                } else {
                    Self::field_from(flags, HAS_EXTRA)
                }
            }
            Field::ExtraLength { low: None } => Some(Field::ExtraLength { low: Some(byte) }),
            Field::ExtraLength { low: Some(low) } => match u16::from_le_bytes([low, byte]) {
                0 => Self::field_from(flags, HAS_NAME),
                left => Some(Field::Extra { left: left.into() }),
            },
            Field::Extra { left: 1 } => Self::field_from(flags, HAS_NAME),
            Field::Extra { left } => Some(Field::Extra { left: left - 1 }),
            Field::Name if byte == 0 => Self::field_from(flags, HAS_COMMENT),
            Field::Comment if byte == 0 => Self::field_from(flags, HAS_CHECK),
            Field::Name | Field::Comment => Some(field),
            Field::Check { low: None } => Some(Field::Check { low: Some(byte) }),
            Field::Check { low: Some(low) } if u16::from_le_bytes([low, byte]) == crc.sum() as u16 => None,
            Field::Check { .. } => return Err(Problem::WrongChecksum),
        };
        Ok(field.map(|field| Self { flags, field }))
    }

    /// Returns the first field present according to `flags`, starting with `first`.
    fn field_from(flags: u8, first: u8) -> Option<Field> {
        let fields = [
            (HAS_EXTRA, Field::ExtraLength { low: None }),
            (HAS_NAME, Field::Name),
            (HAS_COMMENT, Field::Comment),
            (HAS_CHECK, Field::Check { low: None }),
        ];
        let mut rest = fields.iter().skip_while(|(flag, _)| *flag != first);
        rest.find(|(flag, _)| flags & flag != 0).map(|(_, field)| *field)
    }
}
