//! Log: the file that changes are appended to, and the [mark](super::mark) of what has been acknowledged.
//!
//! Invariants:
//! - `log.L1`: bytes up to `synced` are on disk, and only they count.
//! - `log.L2`: the mark covers `synced` before any change in it is acknowledged, and nothing beyond `synced` when the
//!   log is truncated.

use std::io;
use std::sync::Arc;

use super::files::{Appender, Files};
use super::frame::{FILE_HEADER, FileKind, file_header};
use super::mark::{Found, HighWater, Mark, TAIL};
use super::{draft_name, log_name};
use crate::Revision;

#[derive(Debug)]
pub(super) struct Log {
    base: Revision,
    file: Box<dyn Appender>,
    /// log.L1.
    synced: u64,
    /// Whether a failed write may have left bytes after `synced`.
    is_dirty: bool,
    /// log.L2.
    mark: Mark,
}

impl Log {
    /// Creates the log that follows a revision, and its mark. Both are on disk when this returns (`disk.D5`).
    pub(super) fn create(files: &Arc<dyn Files>, base: Revision) -> io::Result<Self> {
        let file = begin(files, base)?;
        let synced = FILE_HEADER as u64;
        let mark = Mark::create(files, HighWater { base, start: synced, end: synced, revision: base })?;
        Ok(Self { base, file, synced, is_dirty: false, mark })
    }

    /// Continues a log that was read up to `length`: truncates what follows, and appends `restored`, which ends with
    /// the change of `revision`. The data and the file names are on disk when this returns, even if they were not
    /// before (`disk.D1`): the previous process may have ended between a write and its sync.
    pub(super) fn resume(
        files: &Arc<dyn Files>,
        base: Revision,
        length: u64,
        restored: &[u8],
        found: Option<&Found>,
        revision: Revision,
    ) -> io::Result<Self> {
        let mut file = files.append(&log_name(base))?;
        file.truncate(length)?;
        if !restored.is_empty() {
            file.append(restored)?;
        }
        file.sync()?;
        files.sync()?;
        let synced = length + restored.len() as u64;
        let at = HighWater { base, start: synced, end: synced, revision };
        let mark = match found {
            Some(found) => Mark::resume(files, found, at)?,
            None => Mark::create(files, at)?,
        };
        Ok(Self { base, file, synced, is_dirty: false, mark })
    }

    /// Continues in a new file that follows a revision. If this fails, the log is unchanged.
    pub(super) fn rotate(&mut self, files: &Arc<dyn Files>, base: Revision) -> io::Result<()> {
        self.clean()?;
        self.file = begin(files, base)?;
        (self.base, self.synced) = (base, FILE_HEADER as u64);
        Ok(())
    }

    /// Returns the name of the file.
    pub(super) fn name(&self) -> String {
        log_name(self.base)
    }

    /// Returns the length in bytes (`log.L1`).
    pub(super) fn synced(&self) -> u64 {
        self.synced
    }

    /// Appends records, the last of which is the change of `revision`, and returns once they and the mark are on
    /// disk. If this fails, the log is restored, at the latest before the next records are appended.
    pub(super) fn commit(&mut self, records: &[u8], revision: Revision) -> io::Result<()> {
        self.clean()?; // disk.D4
        self.is_dirty = true;
        let end = self.synced + records.len() as u64;
        let at = HighWater { base: self.base, start: self.synced, end, revision };
        let (file, mark) = (&mut self.file, &mut self.mark);
        let mut append = || file.append(records).and_then(|()| file.sync());
        let outcome = if records.len() <= TAIL {
            // The mark carries a copy of the records, so it may reach the disk before them.
            std::thread::scope(|scope| {
                let marked = std::thread::Builder::new().spawn_scoped(scope, || mark.advance(at, records))?;
                let appended = append();
                let marked = marked.join().unwrap_or_else(|_| Err(io::Error::other("the thread panicked")));
                appended.and(marked)
            })
        } else {
            append().and_then(|()| mark.advance(at, &[]))
        };
        match outcome {
            Ok(()) => {
                self.synced = end;
                self.is_dirty = false;
            }
            Err(_) => drop(self.clean()), // tried again with the next records
        }
        outcome
    }

    /// Checks whether this many bytes could be appended, and leaves the log unchanged.
    pub(super) fn probe(&mut self, bytes: usize) -> io::Result<()> {
        self.clean()?;
        self.is_dirty = true;
        // Zeros look like a torn write: if the process ends now, the next start cuts them off.
        let appended = self.file.append(&vec![0; bytes]).and_then(|()| self.file.sync());
        appended.and(self.clean())
    }

    /// Truncates what a failed write has left (`disk.D4`). Data of a failed sync is truncated too, since a later sync
    /// may succeed without having written it.
    fn clean(&mut self) -> io::Result<()> {
        if self.is_dirty {
            self.mark.roll_back()?; // log.L2
            self.file.truncate(self.synced)?;
            self.file.sync()?;
            self.is_dirty = false;
        }
        Ok(())
    }
}

/// Creates the file for the changes after a revision. It is on disk when this returns.
fn begin(files: &Arc<dyn Files>, base: Revision) -> io::Result<Box<dyn Appender>> {
    let name = log_name(base);
    let draft = draft_name(&name);
    let mut file = files.create(&draft)?;
    file.append(&file_header(FileKind::Log, base))?;
    file.sync()?;
    files.rename(&draft, &name)?;
    files.sync()?;
    Ok(file)
}
