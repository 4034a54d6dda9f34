//! gzip, decompressed while it is still arriving.
//!
//! From: the chunks of a compressed response body, in any sizes.
//! To:   the chunks of the plain body, each as soon as it can be had.
//!
//! An API server ends a gzip member whenever it flushes, and begins another: on a watch, events
//! come in a member each. So a body is any number of members, and nothing waits for the next one or
//! for the end.
//!
//! - Z1: no call makes more than `chunk_bytes` of output, and none is held back: a body that
//!   expands a thousandfold takes many calls, not much memory.
//! - Z2: a member whose checksum or length is wrong ends in an error; what came of it before could
//!   not be checked yet.

use bytes::{Buf, Bytes};
use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::{Malformed, Problem};

/// Decompresses a body of gzip members, chunk by chunk.
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
    /// Where `input` starts, in the body.
    offset: u64,
    inflate: Decompress,
    /// Of the header while that is read, then of the data.
    crc: Crc,
    /// The output of one call (Z1).
    output: Vec<u8>,
    /// The last call filled `output`, so that there may be more without more input.
    full: bool,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Member,
    Header(Header),
    /// Of the member whose data starts at that offset.
    Data(u64),
    Trailer {
        taken: usize,
        bytes: [u8; 8],
    },
    Failed(Malformed),
}

/// How far a member's header has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    flags: u8,
    field: Field,
}

/// The fields of a header, in order; most of them are there if a flag says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// Magic, method, flags, time and system: the position within them.
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
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8]; // the third byte says that the method is deflate
const HAS_CHECK: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

impl Gunzip {
    /// The most that a call of [`next`](Self::next) returns by default.
    pub const CHUNK_BYTES: usize = 64 << 10;

    /// A decoder that returns at most `chunk_bytes` at once, and at least one byte.
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

    /// Takes the next chunk of the compressed body. One chunk should be drained by
    /// [`next`](Self::next) before the next is pushed: otherwise the two are joined by a copy.
    pub fn push(&mut self, chunk: Bytes) {
        self.input = if self.input.is_empty() { chunk } else { [&*self.input, &*chunk].concat().into() };
    }

    /// The next chunk of the plain body, never empty, or `None` when more of the compressed one is
    /// needed.
    ///
    /// # Errors
    /// Where the body is not gzip; nothing can be read after that, and the error is returned again.
    #[expect(clippy::should_implement_trait, reason = "`None` does not mean that it has ended")]
    pub fn next(&mut self) -> Result<Option<Bytes>, Malformed> {
        self.advance().inspect_err(|error| self.state = State::Failed(error.clone()))
    }

    /// Checks that the body did not end within a member.
    ///
    /// # Errors
    /// [`Problem::Truncated`] where it did, or what was wrong before.
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

    /// Decompresses as much as there is input and room for, of the data that starts at `start`.
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
            // With input and room for output, no progress means that there will never be any.
            Status::Ok | Status::BufError if consumed == 0 && produced == 0 && !self.input.is_empty() => {
                return Err(corrupt());
            }
            Status::Ok | Status::BufError => {}
        }
        let output = &self.output[..produced];
        self.crc.update(output);
        Ok((produced > 0).then(|| Bytes::copy_from_slice(output)))
    }

    /// Compares what came with what the member says of it (Z2).
    fn check(&self, trailer: [u8; 8]) -> Result<(), Malformed> {
        let found = u64::from(self.crc.amount()) << 32 | u64::from(self.crc.sum());
        match u64::from_le_bytes(trailer) == found {
            true => Ok(()),
            false => Err(Malformed { offset: self.offset - 8, problem: Problem::WrongChecksum }),
        }
    }

    fn take(&mut self, bytes: usize) {
        self.input.advance(bytes);
        self.offset += bytes as u64;
    }
}

/// [`Gunzip::CHUNK_BYTES`] at once.
impl Default for Gunzip {
    fn default() -> Self {
        Self::new(Self::CHUNK_BYTES)
    }
}

impl Header {
    /// The header behind the next byte; `None` if that was its last.
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

    /// The first field that the flags announce, from the given one on.
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
