//! Frames: the file header and the record headers. The format is described in [the store](super).

use std::io::{self, Read};

use flate2::Crc;

use super::{Damage, tear};
use crate::Revision;

/// The format version written here.
pub(super) const VERSION: u32 = 1;
/// Size of a file header in bytes.
pub(super) const FILE_HEADER: usize = 20;
/// Size of a record header in bytes.
pub(super) const HEADER: usize = 24;
/// The first bytes of a record. The first one is not zero: see [`tear`].
pub(super) const MARK: [u8; 4] = *b"\xd7rec";
/// The largest payload in bytes.
pub(super) const LARGEST: usize = 1 << 30;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// Changes after a revision.
    Log,
    /// Objects at a revision.
    Snapshot,
}

impl FileKind {
    fn magic(self) -> [u8; 4] {
        match self {
            Self::Log => *b"WKLG",
            Self::Snapshot => *b"WKSN",
        }
    }
}

pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Returns the header of a file.
pub(super) fn file_header(kind: FileKind, revision: Revision) -> Vec<u8> {
    let mut header = Vec::with_capacity(FILE_HEADER);
    header.extend_from_slice(&kind.magic());
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.extend_from_slice(&revision.get().to_le_bytes());
    header.extend_from_slice(&crc32(&header).to_le_bytes());
    header
}

/// The reason that a file header cannot be used.
#[derive(Debug)]
pub(super) enum BadHeader {
    /// An unknown format version.
    Version(u32),
    /// Not a header.
    Damaged(Damage),
}

/// Reads a file header and returns its revision.
pub(super) fn read_file_header(kind: FileKind, header: &[u8]) -> Result<Revision, BadHeader> {
    let damaged = |what| Err(BadHeader::Damaged(Damage { offset: 0, what }));
    if !header.starts_with(&kind.magic()) {
        return damaged("unknown file type");
    }
    let (Some(version), Some(revision), Some(crc)) = (number(header, 4), long(header, 8), number(header, 16))
    else {
        return damaged("it ends within its header");
    };
    if crc32(&header[..16]) != crc {
        return damaged("the checksum of its header does not match");
    }
    match version {
        VERSION => Ok(Revision::new(revision)),
        other => Err(BadHeader::Version(other)),
    }
}

/// Appends a record whose payload is written by `fill`.
pub(super) fn push(out: &mut Vec<u8>, synced: u64, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.resize(start + HEADER, 0);
    fill(out);
    let payload = &out[start + HEADER..];
    let length = u32::try_from(payload.len()).expect("`record::readable` lets nothing larger pass");
    let crc = crc32(payload);
    let header = &mut out[start..start + HEADER];
    header[..4].copy_from_slice(&MARK);
    header[4..8].copy_from_slice(&length.to_le_bytes());
    header[8..16].copy_from_slice(&synced.to_le_bytes());
    header[16..20].copy_from_slice(&crc.to_le_bytes());
    let crc = crc32(&header[..20]);
    header[20..].copy_from_slice(&crc.to_le_bytes());
}

/// The contents of a valid record header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) length: usize,
    pub(super) synced: u64,
    pub(super) crc: u32,
}

/// Reads the record header at the start of `bytes`; returns `None` if it is incomplete or its checksum does not
/// match.
pub(super) fn read_header(bytes: &[u8]) -> Option<Header> {
    let header = bytes.get(..HEADER).filter(|header| header.starts_with(&MARK))?;
    if crc32(&header[..20]) != number(header, 20)? {
        return None;
    }
    let length = usize::try_from(number(header, 4)?).ok()?;
    Some(Header { length, synced: long(header, 8)?, crc: number(header, 16)? })
}

pub(super) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

pub(super) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

/// Reads the records of a file one at a time.
pub(super) struct Frames<R> {
    reader: R,
    /// The offset of the next record.
    offset: u64,
    length: u64,
    /// The payload of the last record.
    payload: Vec<u8>,
}

/// The reason that a record cannot be read.
#[derive(Debug)]
pub(super) enum BadFrame {
    /// Writing it was interrupted, so it was never acknowledged.
    Torn,
    /// It was complete and has changed.
    Damaged(Damage),
    Io(io::Error),
}

impl<R: Read> Frames<R> {
    /// Creates a reader for a file whose header has already been read.
    pub(super) fn new(reader: R, length: u64) -> Self {
        Self { reader, offset: FILE_HEADER as u64, length, payload: Vec::new() }
    }

    /// Returns the offset of the next record.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next payload, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, BadFrame> {
        let left = usize::try_from(self.length.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(None);
        }
        let mut header = [0; HEADER];
        let header = &mut header[..left.min(HEADER)];
        self.reader.read_exact(header).map_err(BadFrame::Io)?;
        let Some(read) = read_header(header).filter(|read| read.length <= left - HEADER) else {
            return Err(self.explain(header));
        };
        self.payload.resize(read.length, 0);
        self.reader.read_exact(&mut self.payload).map_err(BadFrame::Io)?;
        if crc32(&self.payload) != read.crc {
            let bytes = [&*header, &self.payload].concat();
            return Err(self.explain(&bytes));
        }
        self.offset += (HEADER + read.length) as u64;
        Ok(Some(&self.payload))
    }

    /// Determines why the record that starts with `bytes` cannot be read.
    fn explain(&mut self, bytes: &[u8]) -> BadFrame {
        let mut rest = bytes.to_vec();
        if let Err(error) = self.reader.read_to_end(&mut rest) {
            return BadFrame::Io(error);
        }
        match tear::judge(&rest, self.offset) {
            None => BadFrame::Torn,
            Some(what) => BadFrame::Damaged(Damage { offset: self.offset, what }),
        }
    }
}
