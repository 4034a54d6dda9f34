//! Log: the file that changes are appended to, and the [mark](super::mark) of what was acknowledged.
//!
//! - L1: bytes up to `synced` are on disk, and only they count.
//! - L2: the mark covers `synced` before anybody learns of it, and nothing after it when the log is cut.

use std::io;
use std::sync::Arc;

use super::files::{Appender, Files};
use super::frame::{FILE_HEADER, Form, file_header};
use super::mark::{Found, HighWater, Mark, TAIL};
use super::{draft_name, log_name};
use crate::store::Revision;

#[derive(Debug)]
pub(super) struct Log {
    base: Revision,
    file: Box<dyn Appender>,
    /// L1.
    synced: u64,
    /// Something may be there after `synced`, left by a write that failed.
    is_dirty: bool,
    /// L2.
    mark: Mark,
}

impl Log {
    /// Begins the log after a revision, and its mark. Both are on disk when this returns (D5).
    pub(super) fn create(files: &Arc<dyn Files>, base: Revision) -> io::Result<Self> {
        let file = begin(files, base)?;
        let synced = FILE_HEADER as u64;
        let mark = Mark::create(files, HighWater { base, start: synced, end: synced, revision: base })?;
        Ok(Self { base, file, synced, is_dirty: false, mark })
    }

    /// Continues a log that was read up to `length`: cuts off what is after it, and appends `restored`, which
    /// ends with the change of `revision`. All of it, and the names of the files, are on disk when this returns,
    /// even if they were not before (D1): the previous process may have ended between a write and its sync.
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

    /// Continues in a new file, which begins after a revision. If this fails the log is as it was.
    pub(super) fn rotate(&mut self, files: &Arc<dyn Files>, base: Revision) -> io::Result<()> {
        self.clean()?;
        self.file = begin(files, base)?;
        (self.base, self.synced) = (base, FILE_HEADER as u64);
        Ok(())
    }

    /// The name of the file.
    pub(super) fn name(&self) -> String {
        log_name(self.base)
    }

    /// How long it is (L1).
    pub(super) fn synced(&self) -> u64 {
        self.synced
    }

    /// Appends records, the last of which is the change of `revision`, and returns once they and the mark are on
    /// disk. If this fails the log is as it was, at the latest when the next records come.
    pub(super) fn commit(&mut self, records: &[u8], revision: Revision) -> io::Result<()> {
        self.clean()?; // D4
        self.is_dirty = true;
        let end = self.synced + records.len() as u64;
        let at = HighWater { base: self.base, start: self.synced, end, revision };
        let (file, mark) = (&mut self.file, &mut self.mark);
        let mut append = || file.append(records).and_then(|()| file.sync());
        let outcome = if records.len() <= TAIL {
            // The mark brings the records along, so that it may be on disk before them.
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

    /// Finds out whether as many bytes could be appended, and leaves the log as it was.
    pub(super) fn probe(&mut self, bytes: usize) -> io::Result<()> {
        self.clean()?;
        self.is_dirty = true;
        // Zeros are what is left of a torn write: if the process ends now the next start cuts them off.
        let appended = self.file.append(&vec![0; bytes]).and_then(|()| self.file.sync());
        appended.and(self.clean())
    }

    /// Cuts off what a failed write has left (D4). A sync that failed is not trusted to succeed later: what it was
    /// for is cut off too.
    fn clean(&mut self) -> io::Result<()> {
        if self.is_dirty {
            self.mark.roll_back()?; // L2
            self.file.truncate(self.synced)?;
            self.file.sync()?;
            self.is_dirty = false;
        }
        Ok(())
    }
}

/// Creates the file with the changes after a revision. It is on disk when this returns.
fn begin(files: &Arc<dyn Files>, base: Revision) -> io::Result<Box<dyn Appender>> {
    let name = log_name(base);
    let draft = draft_name(&name);
    let mut file = files.create(&draft)?;
    file.append(&file_header(Form::Log, base))?;
    file.sync()?;
    files.rename(&draft, &name)?;
    files.sync()?;
    Ok(file)
}
