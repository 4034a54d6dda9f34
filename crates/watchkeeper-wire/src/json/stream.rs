//! A stream of chunks, read token by token while it is still arriving.
//!
//! From: the chunks of a response body, in any sizes.
//! To:   single bytes of structure, and whole values: as slices of their chunk where the chunk has
//!       all of them, else collected in the carry buffer.
//!
//! - C1: every byte is looked at once, however small the chunks are.
//! - C2: the carry buffer takes no more than the limit of the value that is being collected.

use std::ops::Range;

use bytes::Bytes;

use super::scan::{Fed, Scan};
use crate::{Malformed, Problem};

/// The carry buffer is kept for the next value unless it has grown beyond this.
const CARRY_KEPT: usize = 256 << 10;

/// What has arrived of a stream and has not been read.
#[derive(Debug, Default)]
pub(super) struct Stream {
    chunk: Bytes,
    /// The next byte to read, in the chunk.
    at: usize,
    /// Where the chunk starts, in the stream.
    base: u64,
    /// What came in earlier chunks of a value that spans them.
    carry: Vec<u8>,
    /// The value that has not ended yet.
    open: Option<OpenValue>,
    /// Where the last value starts, in the stream.
    value_start: u64,
}

/// What a value may take, and what to call it where it takes more.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueLimit {
    pub(super) what: &'static str,
    /// The limit that the error names.
    pub(super) named: usize,
    /// The bytes that are left of it for this value.
    pub(super) bytes: usize,
    pub(super) depth: usize,
    /// Levels around what `depth` is for.
    pub(super) around: usize,
}

/// Where a value stands that has wholly arrived, or a part of one.
#[derive(Debug, Clone)]
pub(super) enum Place {
    Chunk(Range<usize>),
    Carry(Range<usize>),
}

impl Place {
    /// A part of the value that stands here.
    pub(super) fn part(&self, part: Range<usize>) -> Self {
        match self {
            Self::Chunk(whole) => Self::Chunk(whole.start + part.start..whole.start + part.end),
            Self::Carry(whole) => Self::Carry(whole.start + part.start..whole.start + part.end),
        }
    }
}

/// How far an unfinished value has been followed.
#[derive(Debug, Clone, Copy)]
enum OpenValue {
    Container(Scan),
    String {
        opened: bool,
        escaped: bool,
    },
    /// A number or a word: it ends before the first byte that cannot belong to it.
    Scalar,
}

impl Stream {
    /// Takes the next chunk, and joins it to what is left of the last.
    pub(super) fn push(&mut self, chunk: Bytes) {
        let left = &self.chunk[self.at..];
        let joined = if left.is_empty() { chunk } else { [left, &chunk].concat().into() };
        self.base += self.at as u64;
        (self.chunk, self.at) = (joined, 0);
    }

    /// Lets go of the chunk if all of it has been read.
    pub(super) fn release(&mut self) {
        if self.at == self.chunk.len() {
            self.push(Bytes::new());
        }
    }

    /// The next byte that is not white space, which stays the next to be read.
    pub(super) fn token(&mut self) -> Option<u8> {
        loop {
            match self.chunk.get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    /// Passes over the byte that [`token`](Self::token) has shown.
    pub(super) fn pass(&mut self) {
        self.at += 1;
    }

    /// Reads the value whose first byte [`token`](Self::token) has shown, or goes on with it in the
    /// next chunk. `None` if it goes on past this one too.
    pub(super) fn value(&mut self, limit: ValueLimit) -> Result<Option<Place>, Malformed> {
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
        // One byte more than there is room for shows that the value does not fit: found at the same
        // byte however the chunks are cut.
        let piece = &self.chunk[start..start + left.min(room.saturating_add(1))];
        match open.feed(piece) {
            Fed::End(length) if length <= room => {
                self.at = start + length;
                if self.carry.is_empty() {
                    return Ok(Some(Place::Chunk(start..self.at)));
                }
                self.collect(start, limit.bytes);
                Ok(Some(Place::Carry(0..self.carry.len())))
            }
            Fed::More if piece.len() <= room => {
                self.at = self.chunk.len();
                self.collect(start, limit.bytes);
                self.open = Some(open);
                Ok(None)
            }
            Fed::End(_) | Fed::More => {
                let problem = Problem::TooLong { what: limit.what, limit: limit.named };
                Err(Malformed { offset: self.value_start, problem })
            }
            Fed::TooDeep(place) => {
                let problem = Problem::TooDeep { limit: limit.depth };
                Err(Malformed { offset: self.offset() + place as u64, problem })
            }
        }
    }

    /// Whether a value has begun and not ended.
    pub(super) fn within_value(&self) -> bool {
        self.open.is_some()
    }

    /// The bytes of the value that was read last.
    pub(super) fn bytes(&self, place: &Place) -> &[u8] {
        match place {
            Place::Chunk(range) => &self.chunk[range.clone()],
            Place::Carry(range) => &self.carry[range.clone()],
        }
    }

    /// Where the value that was read last starts, in the stream.
    pub(super) fn value_start(&self) -> u64 {
        self.value_start
    }

    /// Where the next byte stands, in the stream.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// An error at the next byte.
    pub(super) fn error(&self, problem: Problem) -> Malformed {
        Malformed { offset: self.offset(), problem }
    }

    /// Appends the chunk's bytes from `start` to the one that is read next.
    fn collect(&mut self, start: usize, limit: usize) {
        let piece = &self.chunk[start..self.at];
        let length = self.carry.len() + piece.len();
        if length > self.carry.capacity() {
            let capacity = (2 * self.carry.capacity()).min(limit).max(length); // C2
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

    fn feed(&mut self, piece: &[u8]) -> Fed {
        match self {
            Self::Container(scan) => scan.feed(piece),
            Self::String { opened, escaped } => {
                for (at, byte) in piece.iter().enumerate() {
                    match (*opened, *escaped, byte) {
                        (false, _, _) => *opened = true,
                        (true, true, _) => *escaped = false,
                        (true, false, b'\\') => *escaped = true,
                        (true, false, b'"') => return Fed::End(at + 1),
                        _ => {}
                    }
                }
                Fed::More
            }
            Self::Scalar => {
                let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                piece.iter().position(|byte| !belongs(byte)).map_or(Fed::More, Fed::End)
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
    fn the_carry_buffer_never_takes_more_than_the_limit_of_its_value() {
        let mut stream = Stream::default();
        let text = format!("{{\"a\":\"{}\"}}", "x".repeat(1000));
        for byte in text.as_bytes() {
            stream.push(Bytes::copy_from_slice(&[*byte]));
            let value = stream.value(limit(text.len())).unwrap();
            assert!(stream.carry.capacity() <= text.len(), "C2");
            assert_eq!(value.is_some(), stream.carry.len() == text.len());
        }
        assert_eq!(stream.carry, text.as_bytes());
    }

    #[test]
    fn a_carry_buffer_that_has_grown_large_is_let_go() {
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
    fn a_chunk_that_has_been_read_is_let_go() {
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
