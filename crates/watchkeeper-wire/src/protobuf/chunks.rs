//! The chunks of a stream, from which steps of known length are taken.
//!
//! From: the chunks of a response body, in any sizes.
//! To:   [`split`](super::split) and [`frames`](super::frames), a step at a time: a slice of its chunk
//!       where the chunk has all of it, else collected.
//!
//! - L1: the carry buffer never holds more than one step: a header of at most [`HEADER_BYTES`], or
//!   one field within the limit that the taker has checked.

use bytes::{Buf, Bytes};

use super::{Cursor, Wire};
use crate::{Malformed, Problem};

/// A tag and a length, ten bytes each at the most.
const HEADER_BYTES: usize = 20;

/// A tag and, where the payload is not in it already, how long the payload is.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) field: u32,
    pub(super) wire: Wire,
    /// Bytes of the payload that follow.
    pub(super) length: u64,
    /// Bytes of the header itself.
    pub(super) size: u64,
    /// Where it ends in the stream.
    pub(super) offset: u64,
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
    pub(super) fn skip(&mut self, left: u64) -> u64 {
        self.release();
        let step = left.min(self.chunk.len() as u64);
        self.chunk.advance(step as usize);
        self.offset += step;
        left - step
    }

    /// The header that comes next, if all of it has arrived.
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
