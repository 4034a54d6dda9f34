//! Recovery: reads the files of a directory into objects.
//!
//! Input: the [contents](super::contents) of a directory, or what can be [salvaged](salvage) of them.
//! Output: the [store](super), which starts with these objects and appends to the last log.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::OpenError;
use super::contents::Contents;
use super::files::Files;
use super::frame::{BadFrame, BadHeader, FILE_HEADER, FileKind, Frames, read_file_header};
use super::log::Log;
use super::replay::Replay;
use super::salvage::{self, Loss};
use crate::Revision;

/// The result of opening a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The number of objects.
    pub objects: usize,
    /// The revision of the last change.
    pub revision: Revision,
    /// The unfinished write that was cut off, if any.
    pub cut: Option<Cut>,
    /// The lost changes, if losses were accepted.
    pub loss: Option<Loss>,
}

/// The end of a log that was cut off: an interrupted write that was never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cut {
    /// The file.
    pub path: PathBuf,
    /// The length of the file after the cut, in bytes.
    pub offset: u64,
    /// The number of bytes cut off.
    pub bytes: u64,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, bytes } = self;
        write!(f, "{bytes} bytes of an unfinished write were cut off {} at byte {offset}", path.display())
    }
}

/// A position in a file whose contents have changed since they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The offset in bytes from the start of the file.
    pub offset: u64,
    /// The reason.
    pub what: &'static str,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is damaged at byte {}: {}", self.offset, self.what)
    }
}

/// The state of a store that was opened.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) state: Replay,
    pub(super) recovery: Recovery,
    /// The number of bytes in the logs.
    pub(super) log_bytes: u64,
}

/// The policy for missing acknowledged changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LossPolicy {
    /// Refuse a directory that has lost changes, without modifying it.
    Refused,
    /// Keep what can be read: see [`salvage`].
    Accepted,
}

/// Reads a directory, and creates or continues its log.
pub(super) fn recover(files: &Arc<dyn Files>, losses: LossPolicy) -> Result<(Recovered, Log), OpenError> {
    let of_directory = |source| OpenError::Io { path: files.path(""), source };
    let names = files.list().map_err(of_directory)?;
    match Contents::read(&**files, &names) {
        Err(error) if losses == LossPolicy::Accepted && error.is_loss() => {
            salvage::salvage(files, &names, &error)
        }
        contents => contents?.open(files, &names),
    }
}

/// The extent of a single log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogContents {
    /// The revision that it follows.
    pub base: Revision,
    /// The revision of its last change.
    pub revision: Revision,
    /// The offset at which its last change ends, in bytes. Anything after it is an interrupted write.
    pub end: u64,
}

/// Reads a log that starts from an empty store, as opening a store does.
///
/// # Errors
/// Returns where and how the log is damaged.
pub fn read_log(log: &[u8]) -> Result<LogContents, Damage> {
    let base = read_file_header(FileKind::Log, log).map_err(|bad| match bad {
        BadHeader::Version(_) => Damage { offset: 4, what: "unknown format version" },
        BadHeader::Damaged(damage) => damage,
    })?;
    let mut state = Replay { revision: base, ..Replay::default() };
    let mut frames = Frames::new(log.get(FILE_HEADER..).unwrap_or_default(), log.len() as u64);
    match state.take_changes(&mut frames) {
        Ok(()) | Err(BadFrame::Torn) => {
            Ok(LogContents { base, revision: state.revision, end: frames.offset() })
        }
        Err(BadFrame::Damaged(damage)) => Err(damage),
        Err(BadFrame::Io(_)) => Err(Damage { offset: frames.offset(), what: "unexpected end of file" }),
    }
}
