//! High-water mark: the position up to which changes have been acknowledged, in its own file beside the log.
//!
//! Input: the [log](super::log), with every batch of changes, before the batch is acknowledged.
//! Output: the next start, which refuses a directory that ends before the mark.
//!
//! The file has two slots that are written alternately, so that an interrupted write leaves the other slot intact. A
//! slot holds the position in the log, and the bytes of the batch up to [`TAIL`]. With those bytes the mark and the
//! log can be synced at the same time: a mark that reaches the disk before its batch carries the batch.
//!
//! ```text
//! slot     "WKHW", version u32 = 1, sequence u64, base u64, start u64, end u64, revision u64,
//!          length u32 and crc32 u32 of the batch that follows, crc32 u32 of the 56 bytes before, batch
//! ```
//!
//! Invariants:
//! - `mark.M1`: an acknowledged change is covered by the mark, and the mark is on disk.
//! - `mark.M2`: what the mark covers is on disk in the log, or in the mark itself.
//! - `mark.M3`: of the readable slots the one with the highest sequence counts; the other one is written next.

use std::io::{self, Read as _};
use std::sync::Arc;

use super::files::{Appender, Files};
use super::frame::{crc32, long, number};
use super::{Damage, OpenError, draft_name};
use crate::Revision;

/// The name of the file.
pub(super) const MARK_FILE: &str = "high-water-mark";
/// Batches larger than this are not copied into the mark, which is then written after the log is on disk.
pub(super) const TAIL: usize = 64 << 10;

const MAGIC: [u8; 4] = *b"WKHW";
const VERSION: u32 = 1;
const HEADER: usize = 60;
/// Whole pages, so that writing one slot never touches a page of the other.
const SLOT: usize = 4096 + TAIL;

/// A position in the log before which everything has been acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HighWater {
    /// The revision that the log follows, which identifies the file.
    pub(super) base: Revision,
    /// The offset of the last batch in the log, in bytes.
    pub(super) start: u64,
    /// The offset at which it ends.
    pub(super) end: u64,
    /// The revision of its last change.
    pub(super) revision: Revision,
}

/// The mark read from a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) at: HighWater,
    /// The last batch, or empty if it was too large.
    pub(super) tail: Vec<u8>,
    sequence: u64,
    slot: usize,
    /// Whether the file has both slots.
    is_whole: bool,
}

/// Reads the mark of a directory; returns `None` if there is no file.
pub(super) fn read(files: &dyn Files) -> Result<Option<Found>, OpenError> {
    let failed = |source| OpenError::Io { path: files.path(MARK_FILE), source };
    let mut bytes = Vec::new();
    match files.read(MARK_FILE) {
        Ok((file, _)) => file.take(2 * SLOT as u64).read_to_end(&mut bytes).map_err(failed)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    let slots = bytes.chunks(SLOT).enumerate();
    let slots: Result<Vec<_>, _> = slots.map(|(slot, bytes)| read_slot(slot, bytes)).collect();
    let slots = slots.map_err(|version| OpenError::Version { path: files.path(MARK_FILE), version })?;
    let newest = slots.into_iter().flatten().max_by_key(|found| found.sequence); // mark.M3
    let damage = Damage { offset: 0, what: "neither of its slots can be read" };
    let is_whole = bytes.len() == 2 * SLOT;
    let newest = newest.map(|found| Found { is_whole, ..found });
    newest.map(Some).ok_or_else(|| OpenError::Damaged { path: files.path(MARK_FILE), damage })
}

/// Reads a slot; returns `None` if its checksums do not match.
///
/// # Errors
/// Returns the version number if it is an unknown format version.
fn read_slot(slot: usize, bytes: &[u8]) -> Result<Option<Found>, u32> {
    let Some((header, rest)) = bytes.split_at_checked(HEADER) else { return Ok(None) };
    if !header.starts_with(&MAGIC) || number(header, HEADER - 4) != Some(crc32(&header[..HEADER - 4])) {
        return Ok(None);
    }
    if let Some(version) = number(header, 4).filter(|version| *version != VERSION) {
        return Err(version);
    }
    let found = || {
        let length = usize::try_from(number(header, 48)?).ok()?;
        let tail = rest.get(..length).filter(|tail| Some(crc32(tail)) == number(header, 52))?;
        let at = HighWater {
            base: Revision::new(long(header, 16)?),
            start: long(header, 24)?,
            end: long(header, 32)?,
            revision: Revision::new(long(header, 40)?),
        };
        Some(Found { at, tail: tail.to_vec(), sequence: long(header, 8)?, slot, is_whole: true })
    };
    Ok(found())
}

fn render(sequence: u64, at: HighWater, tail: &[u8]) -> Vec<u8> {
    let mut slot = Vec::with_capacity(HEADER + tail.len());
    slot.extend_from_slice(&MAGIC);
    slot.extend_from_slice(&VERSION.to_le_bytes());
    for number in [sequence, at.base.get(), at.start, at.end, at.revision.get()] {
        slot.extend_from_slice(&number.to_le_bytes());
    }
    let length = u32::try_from(tail.len()).expect("a tail has at most `TAIL` bytes");
    slot.extend_from_slice(&length.to_le_bytes());
    slot.extend_from_slice(&crc32(tail).to_le_bytes());
    slot.extend_from_slice(&crc32(&slot).to_le_bytes());
    slot.extend_from_slice(tail);
    slot
}

/// The mark of an open store.
#[derive(Debug)]
pub(super) struct Mark {
    file: Box<dyn Appender>,
    /// The position on disk (`mark.M1`).
    at: HighWater,
    sequence: u64,
    /// The slot that holds it.
    slot: usize,
    /// Whether the other slot may hold a position that was never acknowledged.
    is_dirty: bool,
}

impl Mark {
    /// Creates the mark, replacing an existing one. It is on disk when this returns.
    pub(super) fn create(files: &Arc<dyn Files>, at: HighWater) -> io::Result<Self> {
        let draft = draft_name(MARK_FILE);
        let mut file = files.create(&draft)?;
        let mut bytes = render(1, at, &[]);
        // Allocate all of its space now, so that a full disk does not fail a later write.
        bytes.resize(2 * SLOT, 0);
        file.append(&bytes)?;
        file.sync()?;
        files.rename(&draft, MARK_FILE)?;
        files.sync()?;
        let file = files.overwrite(MARK_FILE)?;
        Ok(Self { file, at, sequence: 1, slot: 0, is_dirty: false })
    }

    /// Continues a mark that was read from disk, and moves it to `at`.
    pub(super) fn resume(files: &Arc<dyn Files>, found: &Found, at: HighWater) -> io::Result<Self> {
        if !found.is_whole {
            return Self::create(files, at);
        }
        let (sequence, slot) = (found.sequence, found.slot);
        let file = files.overwrite(MARK_FILE)?;
        let mut mark = Self { file, at: found.at, sequence, slot, is_dirty: false };
        let is_there = |other: HighWater| (other.base, other.end, other.revision);
        if is_there(found.at) == is_there(at) {
            mark.file.sync()?; // the previous process may have ended before its sync
        } else {
            mark.advance(at, &[])?;
        }
        Ok(mark)
    }

    /// Moves the mark, and returns once it is on disk. If this fails, call [`roll_back`](Self::roll_back) before
    /// removing what it covers.
    pub(super) fn advance(&mut self, at: HighWater, tail: &[u8]) -> io::Result<()> {
        self.is_dirty = true;
        self.write(at, tail)?;
        (self.slot, self.at, self.is_dirty) = (1 - self.slot, at, false);
        Ok(())
    }

    /// Invalidates a position that was not acknowledged.
    pub(super) fn roll_back(&mut self) -> io::Result<()> {
        if self.is_dirty {
            let at = HighWater { start: self.at.end, ..self.at };
            self.advance(at, &[])?;
        }
        Ok(())
    }

    /// Writes the slot that does not count.
    fn write(&mut self, at: HighWater, tail: &[u8]) -> io::Result<()> {
        self.sequence += 1;
        let bytes = render(self.sequence, at, tail);
        self.file.overwrite(((1 - self.slot) * SLOT) as u64, &bytes)?;
        self.file.sync()
    }
}
