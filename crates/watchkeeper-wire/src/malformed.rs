//! Malformed input: one error for everything that bytes can get wrong, and where.

use std::fmt;

/// The input cannot be read, from `offset` on.
///
/// Offsets count from the start of what the function was given: of the stream for a splitter, of
/// the object for everything else. Nothing of the object at fault has been handed out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {problem}")]
pub struct Malformed {
    /// Where.
    pub offset: u64,
    /// What.
    pub problem: Problem,
}

impl Malformed {
    pub(crate) fn new(offset: usize, problem: Problem) -> Self {
        Self { offset: offset as u64, problem }
    }

    /// The same problem, seen from a container that starts `bytes` earlier.
    pub(crate) fn shifted(mut self, bytes: u64) -> Self {
        self.offset += bytes;
        self
    }
}

/// What is wrong with the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The input ended in the middle of something.
    Truncated,
    /// Another token was due.
    Expected(&'static str),
    /// Bytes follow where the input should have ended.
    TrailingBytes,
    /// A text is not UTF-8.
    InvalidUtf8,
    /// A backslash is followed by something that is no escape.
    InvalidEscape,
    /// A control character stands unescaped in a string.
    ControlCharacter,
    /// An object has the same key twice.
    DuplicateKey(String),
    /// A number does not fit its field.
    NumberOutOfRange(&'static str),
    /// A text does not have the form that its field asks for.
    BadValue {
        /// What was due.
        expected: &'static str,
        /// What was found, shortened.
        found: String,
    },
    /// Nested deeper than [`Limits::depth`](crate::Limits::depth).
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Longer than [`Limits::object_bytes`](crate::Limits::object_bytes) or
    /// [`Limits::envelope_bytes`](crate::Limits::envelope_bytes).
    TooLong {
        /// What is too long.
        what: &'static str,
        /// The limit, in bytes.
        limit: usize,
    },
    /// There are far more values than an object of this size needs: decoding them would take many times its memory.
    TooManyValues {
        /// The most values that a body of this size may have.
        limit: usize,
        /// The size of the body.
        bytes: usize,
    },
    /// The `k8s\0` prefix is missing.
    NoMagic,
    /// A varint has more than ten bytes, or a value beyond 64 bits.
    OverlongVarint,
    /// A length reaches past the end of what contains it.
    LengthPastEnd {
        /// The length that was read.
        length: u64,
        /// The bytes that were left.
        left: usize,
    },
    /// A field has another wire type than its schema says.
    WrongWireType {
        /// The field.
        field: u32,
        /// The wire type that was found.
        found: u8,
    },
    /// A tag has field number 0, a number beyond 2^29, or a wire type that does not exist.
    BadTag,
    /// A field comes again after others came between.
    ScatteredField {
        /// The field.
        field: u32,
    },
    /// Compressed data cannot be decompressed.
    CorruptDeflate,
    /// Decompressed data does not have the checksum and the length that its gzip member says.
    WrongChecksum,
    /// The body says that it is encoded in a way that is not known here.
    UnknownContentEncoding(String),
}

impl Problem {
    /// A text that does not have the form of its field: quoted, and only its beginning where it is long.
    pub(crate) fn bad_value(expected: &'static str, found: &str) -> Self {
        const CHARS: usize = 80;
        let found = match found.char_indices().nth(CHARS) {
            Some((end, _)) => format!("{:?}...", &found[..end]),
            None => format!("{found:?}"),
        };
        Self::BadValue { expected, found }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Truncated => f.write_str("the input ends too early"),
            Problem::Expected(what) => write!(f, "expected {what}"),
            Problem::TrailingBytes => f.write_str("bytes follow the end of the value"),
            Problem::InvalidUtf8 => f.write_str("text is not valid UTF-8"),
            Problem::InvalidEscape => f.write_str("invalid escape in a string"),
            Problem::ControlCharacter => f.write_str("unescaped control character in a string"),
            Problem::DuplicateKey(key) => write!(f, "key {key:?} occurs twice in one object"),
            Problem::NumberOutOfRange(what) => write!(f, "number does not fit {what}"),
            Problem::BadValue { expected, found } => write!(f, "expected {expected}, found {found}"),
            Problem::TooDeep { limit } => write!(f, "nested deeper than the limit of {limit} levels"),
            Problem::TooLong { what, limit } => write!(f, "{what} is longer than the limit of {limit} bytes"),
            Problem::TooManyValues { limit, bytes } => {
                write!(f, "more than {limit} values in {bytes} bytes")
            }
            Problem::NoMagic => f.write_str("the protobuf body does not start with `k8s\\0`"),
            Problem::OverlongVarint => f.write_str("varint is longer than 64 bits"),
            Problem::LengthPastEnd { length, left } => {
                write!(f, "length {length} reaches past the end: {left} bytes are left")
            }
            Problem::WrongWireType { field, found } => {
                write!(f, "field {field} has wire type {found}, which is not that of its schema")
            }
            Problem::BadTag => f.write_str("invalid protobuf tag"),
            Problem::ScatteredField { field } => {
                write!(f, "field {field} comes again after other fields")
            }
            Problem::CorruptDeflate => f.write_str("compressed data is corrupt"),
            Problem::WrongChecksum => f.write_str("checksum of a gzip member does not match its data"),
            Problem::UnknownContentEncoding(name) => write!(f, "content encoding {name:?} is not known"),
        }
    }
}
