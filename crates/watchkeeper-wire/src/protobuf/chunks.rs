//! A buffer of chunks, read in steps of known length.
//!
//! Input: the chunks of a response body, in any sizes.
//! Output: steps for [`split`](super::split) and [`frames`](super::frames), borrowed from the chunk if it
//! has the whole step.
//!
//! - `chunks.L1`: the carry buffer never exceeds one step: a header of at most [`HEADER_BYTES`], or a
//!   field within the limit that the caller has checked.

use bytes::{Buf, Bytes};

use super::{Cursor, Wire};
use crate::{Malformed, Problem};

/// A tag and a length, at most ten bytes each.
const HEADER_BYTES: usize = 20;

/// A tag and the length of its payload, unless the payload is part of the header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) field: u32,
    pub(super) wire: Wire,
    /// Bytes of the payload after the header.
    pub(super) length: u64,
    /// Bytes of the header itself.
    pub(super) size: u64,
    /// Offset of its end in the stream.
    pub(super) offset: u64,
}

/// A buffer of chunks, read in steps of known length.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// Received and unread bytes.
    chunk: Bytes,
    /// The start of an incomplete step, or the last step (`chunks.L1`).
    carry: Vec<u8>,
    /// The last step, if a single chunk had all of it.
    taken: Option<Bytes>,
    /// Whether the carry buffer holds the last step.
    spent: bool,
    /// Bytes of the stream taken so far.
    pub(super) offset: u64,
}

impl Chunks {
    pub(super) fn push(&mut self, chunk: Bytes) {
        self.chunk =
            if self.chunk.is_empty() { chunk } else { [&self.chunk[..], &chunk[..]].concat().into() };
    }

    /// Takes a step of this length, if all of it has been received.
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

    /// Returns the last step.
    pub(super) fn taken(&self) -> &[u8] {
        self.taken.as_deref().unwrap_or(&self.carry)
    }

    /// Returns whether all received bytes have been taken.
    pub(super) fn is_empty(&self) -> bool {
        self.chunk.is_empty() && (self.spent || self.carry.is_empty())
    }

    /// Returns the number of received bytes.
    pub(super) fn received(&self) -> u64 {
        let waiting = if self.spent { 0 } else { self.carry.len() };
        self.offset + (waiting + self.chunk.len()) as u64
    }

    /// Skips bytes, and returns how many are left to skip.
    pub(super) fn skip(&mut self, left: u64) -> u64 {
        self.release();
        let step = left.min(self.chunk.len() as u64);
        self.chunk.advance(step as usize);
        self.offset += step;
        left - step
    }

    /// Takes the next header, if all of it has been received.
    pub(super) fn take_header(&mut self) -> Result<Option<Header>, Malformed> {
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
        self.chunk.advance(cursor.offset() - carried);
        self.carry.clear();
        self.offset += cursor.offset() as u64;
        Ok(Some(Header { offset: self.offset, size: cursor.offset() as u64, ..header }))
    }

    /// Frees the last step.
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
