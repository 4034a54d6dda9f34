//! An incremental tokenizer over chunks.
//!
//! Input: the chunks of a response body, in any sizes.
//! Output: structural bytes, and whole values: borrowed from the chunk, or collected in the carry
//! buffer if they span chunks.
//!
//! - `stream.C1`: every byte is examined once, regardless of the size of chunks.
//! - `stream.C2`: the carry buffer never exceeds the limit of the current value.

use std::ops::Range;

use bytes::Bytes;

use super::scan::{Scan, ScanResult};
use crate::{Malformed, Problem};

/// A carry buffer larger than this is freed instead of reused.
const CARRY_KEPT: usize = 256 << 10;

/// The received and unread part of a stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    chunk: Bytes,
    /// Position of the next byte in the chunk.
    at: usize,
    /// Offset of the chunk in the stream.
    base: u64,
    /// The part of the current value from earlier chunks.
    carry: Vec<u8>,
    /// The incomplete value.
    open: Option<OpenValue>,
    /// Offset of the last value in the stream.
    value_start: u64,
}

/// The limits of a value, and its name in errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueLimit {
    pub(super) what: &'static str,
    /// The limit to report in errors.
    pub(super) named: usize,
    /// The bytes left for this value.
    pub(super) bytes: usize,
    pub(super) depth: usize,
    /// Additional levels outside of `depth`.
    pub(super) around: usize,
}

/// The range of a complete value, or of a part of one.
#[derive(Debug, Clone)]
pub(super) enum ValueRange {
    Chunk(Range<usize>),
    Carry(Range<usize>),
}

impl ValueRange {
    /// Returns the range of a part of the value.
    pub(super) fn part(&self, part: Range<usize>) -> Self {
        match self {
            Self::Chunk(whole) => Self::Chunk(whole.start + part.start..whole.start + part.end),
            Self::Carry(whole) => Self::Carry(whole.start + part.start..whole.start + part.end),
        }
    }
}

/// The state of an incomplete value.
#[derive(Debug, Clone, Copy)]
enum OpenValue {
    Container(Scan),
    String {
        opened: bool,
        escaped: bool,
    },
    /// A number or literal, which ends before the first byte that cannot belong to it.
    Scalar,
}

impl Stream {
    /// Adds the next chunk, joined to the unread rest of the last.
    pub(super) fn push(&mut self, chunk: Bytes) {
        let left = &self.chunk[self.at..];
        let joined = if left.is_empty() { chunk } else { [left, &chunk].concat().into() };
        self.base += self.at as u64;
        (self.chunk, self.at) = (joined, 0);
    }

    /// Frees the chunk if all of it has been read.
    pub(super) fn release(&mut self) {
        if self.at == self.chunk.len() {
            self.push(Bytes::new());
        }
    }

    /// Returns the next byte that is not whitespace, without consuming it.
    pub(super) fn token(&mut self) -> Option<u8> {
        loop {
            match self.chunk.get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    /// Consumes the byte returned by [`token`](Self::token).
    pub(super) fn consume(&mut self) {
        self.at += 1;
    }

    /// Reads the value that starts at the byte returned by [`token`](Self::token), or continues it in
    /// the next chunk. Returns `None` if it does not end in this chunk.
    pub(super) fn value(&mut self, limit: ValueLimit) -> Result<Option<ValueRange>, Malformed> {
        let start = self.at;
        let mut open = match self.open.take() {
            Some(open) => open,
            None => {
                self.value_start = self.offset();
                self.carry.clear();
                if self.carry.capacity() > CARRY_KEPT {
                    self.carry = Vec::new();
                }
                OpenValue::starting(self.chunk.get(start), limit.depth.saturating_add(limit.around))
            }
        };
        let room = limit.bytes.saturating_sub(self.carry.len());
        let left = self.chunk.len() - start;
        // One byte beyond the limit is examined, so that an oversized value is detected at the same byte
        // regardless of chunk boundaries.
        let piece = &self.chunk[start..start + left.min(room.saturating_add(1))];
        match open.feed(piece) {
            ScanResult::End(length) if length <= room => {
                self.at = start + length;
                if self.carry.is_empty() {
                    return Ok(Some(ValueRange::Chunk(start..self.at)));
                }
                self.collect(start, limit.bytes);
                Ok(Some(ValueRange::Carry(0..self.carry.len())))
            }
            ScanResult::More if piece.len() <= room => {
                self.at = self.chunk.len();
                self.collect(start, limit.bytes);
                self.open = Some(open);
                Ok(None)
            }
            ScanResult::End(_) | ScanResult::More => {
                let problem = Problem::TooLong { what: limit.what, limit: limit.named };
                Err(Malformed { offset: self.value_start, problem })
            }
            ScanResult::TooDeep(at) => {
                let problem = Problem::TooDeep { limit: limit.depth };
                Err(Malformed { offset: self.offset() + at as u64, problem })
            }
        }
    }

    /// Returns whether a value is incomplete.
    pub(super) fn within_value(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the bytes of the last value.
    pub(super) fn bytes(&self, range: &ValueRange) -> &[u8] {
        match range {
            ValueRange::Chunk(range) => &self.chunk[range.clone()],
            ValueRange::Carry(range) => &self.carry[range.clone()],
        }
    }

    /// Returns the offset of the last value in the stream.
    pub(super) fn value_start(&self) -> u64 {
        self.value_start
    }

    /// Returns the offset of the next byte in the stream.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Creates an error at the next byte.
    pub(super) fn error(&self, problem: Problem) -> Malformed {
        Malformed { offset: self.offset(), problem }
    }

    /// Appends the chunk's bytes from `start` up to the next unread byte to the carry buffer.
    fn collect(&mut self, start: usize, limit: usize) {
        let piece = &self.chunk[start..self.at];
        let length = self.carry.len() + piece.len();
        if length > self.carry.capacity() {
            let capacity = (2 * self.carry.capacity()).min(limit).max(length); // stream.C2
            self.carry.reserve_exact(capacity - self.carry.len());
        }
        self.carry.extend_from_slice(piece);
    }
}

impl OpenValue {
    fn starting(first: Option<&u8>, max_depth: usize) -> Self {
        match first {
            Some(b'{' | b'[') => Self::Container(Scan::new(max_depth)),
            Some(b'"') => Self::String { opened: false, escaped: false },
            _ => Self::Scalar,
        }
    }

    fn feed(&mut self, piece: &[u8]) -> ScanResult {
        match self {
            Self::Container(scan) => scan.feed(piece),
            Self::String { opened, escaped } => {
                for (at, byte) in piece.iter().enumerate() {
                    match (*opened, *escaped, byte) {
                        (false, _, _) => *opened = true,
                        (true, true, _) => *escaped = false,
                        (true, false, b'\\') => *escaped = true,
                        (true, false, b'"') => return ScanResult::End(at + 1),
                        _ => {}
                    }
                }
                ScanResult::More
            }
            Self::Scalar => {
                let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                piece.iter().position(|byte| !belongs(byte)).map_or(ScanResult::More, ScanResult::End)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(bytes: usize) -> ValueLimit {
        ValueLimit { what: "value", named: bytes, bytes, depth: 9, around: 0 }
    }

    #[test]
    fn the_carry_buffer_never_exceeds_the_limit_of_its_value() {
        let mut stream = Stream::default();
        let text = format!("{{\"a\":\"{}\"}}", "x".repeat(1000));
        for byte in text.as_bytes() {
            stream.push(Bytes::copy_from_slice(&[*byte]));
            let value = stream.value(limit(text.len())).unwrap();
            assert!(stream.carry.capacity() <= text.len(), "stream.C2");
            assert_eq!(value.is_some(), stream.carry.len() == text.len());
        }
        assert_eq!(stream.carry, text.as_bytes());
    }

    #[test]
    fn a_large_carry_buffer_is_freed() {
        let mut stream = Stream::default();
        stream.push(Bytes::from([b"[".as_slice(), &vec![b' '; 2 * CARRY_KEPT]].concat()));
        assert!(stream.value(limit(usize::MAX)).unwrap().is_none());
        stream.push(Bytes::from_static(b"][]"));
        assert!(stream.value(limit(usize::MAX)).unwrap().is_some());
        assert!(stream.carry.capacity() > CARRY_KEPT);
        assert!(stream.value(limit(usize::MAX)).unwrap().is_some());
        assert_eq!(stream.carry.capacity(), 0);
    }

    #[test]
    fn a_consumed_chunk_is_freed() {
        let mut stream = Stream::default();
        stream.push(Bytes::from_static(b" [] "));
        assert_eq!(stream.token(), Some(b'['));
        assert!(stream.value(limit(9)).unwrap().is_some());
        stream.release();
        assert_eq!((stream.chunk.len(), stream.offset()), (4, 3));
        assert_eq!(stream.token(), None);
        stream.release();
        assert_eq!((stream.chunk.len(), stream.offset()), (0, 4));
    }
}
