//! Errors of malformed input, with their position.

use std::fmt;

/// An error in the input at `offset`.
///
/// Offsets are relative to the input of the function: the stream for a splitter, otherwise the
/// object. No part of the malformed object has been returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {problem}")]
pub struct Malformed {
    /// Byte offset of the problem.
    pub offset: u64,
    /// The problem.
    pub problem: Problem,
}

impl Malformed {
    pub(crate) fn new(offset: usize, problem: Problem) -> Self {
        Self { offset: offset as u64, problem }
    }

    /// Adds `bytes` to the offset, for a container that starts this much earlier.
    pub(crate) fn shifted(mut self, bytes: u64) -> Self {
        self.offset += bytes;
        self
    }
}

/// A problem in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The input is incomplete.
    Truncated,
    /// An unexpected token.
    Expected(&'static str),
    /// Bytes follow the end of the value.
    TrailingBytes,
    /// A string is not valid UTF-8.
    InvalidUtf8,
    /// An invalid escape sequence.
    InvalidEscape,
    /// An unescaped control character in a string.
    ControlCharacter,
    /// A duplicate key in an object.
    DuplicateKey(String),
    /// A number does not fit its field.
    NumberOutOfRange(&'static str),
    /// An invalid value of a field.
    BadValue {
        /// The expected form.
        expected: &'static str,
        /// The value found, shortened.
        found: String,
    },
    /// Exceeds [`Limits::depth`](crate::Limits::depth).
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Exceeds [`Limits::object_bytes`](crate::Limits::object_bytes) or
    /// [`Limits::envelope_bytes`](crate::Limits::envelope_bytes).
    TooLong {
        /// The part that is too long.
        what: &'static str,
        /// The limit, in bytes.
        limit: usize,
    },
    /// Far more values than usual for this size: decoding would take many times its memory.
    TooManyValues {
        /// The maximum number of values for a body of this size.
        limit: usize,
        /// The size of the body.
        bytes: usize,
    },
    /// The `k8s\0` prefix is missing.
    NoMagic,
    /// A varint exceeds ten bytes or 64 bits.
    OverlongVarint,
    /// A length exceeds the remaining bytes.
    LengthPastEnd {
        /// The length read.
        length: u64,
        /// The remaining bytes.
        left: usize,
    },
    /// The wire type of a field does not match its schema.
    WrongWireType {
        /// The field.
        field: u32,
        /// The wire type found.
        found: u8,
    },
    /// A tag with field number 0, a number beyond 2^29, or an unknown wire type.
    BadTag,
    /// The elements of a repeated field are not contiguous.
    ScatteredField {
        /// The field.
        field: u32,
    },
    /// Compressed data cannot be decompressed.
    CorruptDeflate,
    /// Decompressed data does not match the checksum and length in its gzip member.
    WrongChecksum,
    /// The content encoding is not supported.
    UnknownContentEncoding(String),
}

impl Problem {
    /// Creates a `BadValue` with `found` quoted and truncated to 80 characters.
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
            Problem::Truncated => f.write_str("unexpected end of input"),
            Problem::Expected(what) => write!(f, "expected {what}"),
            Problem::TrailingBytes => f.write_str("bytes follow the end of the value"),
            Problem::InvalidUtf8 => f.write_str("text is not valid UTF-8"),
            Problem::InvalidEscape => f.write_str("invalid escape in a string"),
            Problem::ControlCharacter => f.write_str("unescaped control character in a string"),
            Problem::DuplicateKey(key) => write!(f, "duplicate key {key:?}"),
            Problem::NumberOutOfRange(what) => write!(f, "number out of range for {what}"),
            Problem::BadValue { expected, found } => write!(f, "expected {expected}, found {found}"),
            Problem::TooDeep { limit } => write!(f, "nested deeper than the limit of {limit} levels"),
            Problem::TooLong { what, limit } => write!(f, "{what} is longer than the limit of {limit} bytes"),
            Problem::TooManyValues { limit, bytes } => {
                write!(f, "more than {limit} values in {bytes} bytes")
            }
            Problem::NoMagic => f.write_str("protobuf body does not start with `k8s\\0`"),
            Problem::OverlongVarint => f.write_str("varint is longer than 64 bits"),
            Problem::LengthPastEnd { length, left } => {
                write!(f, "length {length} exceeds the remaining {left} bytes")
            }
            Problem::WrongWireType { field, found } => {
                write!(f, "wire type {found} of field {field} does not match its schema")
            }
            Problem::BadTag => f.write_str("invalid protobuf tag"),
            Problem::ScatteredField { field } => {
                write!(f, "elements of field {field} are not contiguous")
            }
            Problem::CorruptDeflate => f.write_str("compressed data is corrupt"),
            Problem::WrongChecksum => f.write_str("checksum of a gzip member does not match its data"),
            Problem::UnknownContentEncoding(name) => write!(f, "unsupported content encoding {name:?}"),
        }
    }
}
