//! Recovery: from the files of a directory to the objects that they hold.
//!
//! From: the [contents](super::contents) of a directory, or what can be [salvaged](salvage) of them.
//! To:   the [store](super), which begins with what was read, and appends to the last log.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::OpenError;
use super::contents::Contents;
use super::files::Files;
use super::frame::{BadFrame, BadHeader, FILE_HEADER, Form, Frames, read_file_header};
use super::log::Log;
use super::replay::Replay;
use super::salvage::{self, Loss};
use crate::store::Revision;

/// What was found when a store was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// How many objects there are.
    pub objects: usize,
    /// The revision of the last change.
    pub revision: Revision,
    /// What was cut off.
    pub cut: Option<Cut>,
    /// What was lost, where losses were accepted.
    pub loss: Option<Loss>,
}

/// The end of a log that was cut off: a write that was cut short, and that nobody was told of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cut {
    /// The file.
    pub path: PathBuf,
    /// How long it is now.
    pub offset: u64,
    /// How many bytes were cut off.
    pub bytes: u64,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, bytes } = self;
        write!(f, "{bytes} bytes of an unfinished write were cut off {} at byte {offset}", path.display())
    }
}

/// A place in a file where something was on disk and is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Where, in bytes from the beginning of the file.
    pub offset: u64,
    /// What is wrong.
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
    /// Bytes in the logs.
    pub(super) log_bytes: u64,
}

/// Whether acknowledged changes may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Losses {
    /// A directory that has lost something is refused, and not changed.
    Refused,
    /// Whatever can be read is kept: see [`salvage`].
    Accepted,
}

/// Reads a directory, and begins or continues its log.
pub(super) fn recover(files: &Arc<dyn Files>, losses: Losses) -> Result<(Recovered, Log), OpenError> {
    let of_directory = |source| OpenError::Io { path: files.path(""), source };
    let names = files.list().map_err(of_directory)?;
    match Contents::read(&**files, &names) {
        Err(error) if losses == Losses::Accepted && error.is_loss() => {
            salvage::salvage(files, &names, &error)
        }
        contents => contents?.open(files, &names),
    }
}

/// What a log says by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogContents {
    /// The revision that it begins after.
    pub base: Revision,
    /// The revision of its last change.
    pub revision: Revision,
    /// Where its last change ends, in bytes. What is after it was cut short by a crash.
    pub end: u64,
}

/// Reads the bytes of a log that begins with an empty store, as the start of a store does.
///
/// # Errors
/// Where and how it is damaged.
pub fn read_log(log: &[u8]) -> Result<LogContents, Damage> {
    let base = read_file_header(Form::Log, log).map_err(|bad| match bad {
        BadHeader::Version(_) => Damage { offset: 4, what: "it has another format version" },
        BadHeader::Damaged(damage) => damage,
    })?;
    let mut state = Replay { revision: base, ..Replay::default() };
    let mut frames = Frames::new(log.get(FILE_HEADER..).unwrap_or_default(), log.len() as u64);
    match state.take_changes(&mut frames) {
        Ok(()) | Err(BadFrame::Torn) => {
            Ok(LogContents { base, revision: state.revision, end: frames.offset() })
        }
        Err(BadFrame::Damaged(damage)) => Err(damage),
        Err(BadFrame::Io(_)) => Err(Damage { offset: frames.offset(), what: "it ends too early" }),
    }
}
