//! Log: the file that changes are appended to.
//!
//! - L1: bytes up to `synced` are on disk, and only they count.

use std::io;
use std::sync::Arc;

use super::files::{Appender, Files};
use super::frame::{FILE_HEADER, Form, file_header};
use super::{draft_name, log_name};
use crate::store::Revision;

#[derive(Debug)]
pub(super) struct Log {
    name: String,
    file: Box<dyn Appender>,
    /// L1.
    synced: u64,
    /// Something may be there after `synced`, left by a write that failed.
    is_dirty: bool,
}

impl Log {
    /// Begins the log after a revision. It is on disk when this returns (D5).
    pub(super) fn create(files: &Arc<dyn Files>, base: Revision) -> io::Result<Self> {
        let name = log_name(base);
        let draft = draft_name(&name);
        let mut file = files.create(&draft)?;
        file.append(&file_header(Form::Log, base))?;
        file.sync()?;
        files.rename(&draft, &name)?;
        files.sync()?;
        Ok(Self { name, file, synced: FILE_HEADER as u64, is_dirty: false })
    }

    /// Goes on with a log that was read up to `length`, and cuts off what is after it. What was read and under
    /// which names is on disk when this returns, even if it was not before (D1): the process before may have
    /// ended between a write and its sync.
    pub(super) fn resume(files: &Arc<dyn Files>, base: Revision, length: u64) -> io::Result<Self> {
        let name = log_name(base);
        let mut file = files.append(&name)?;
        file.truncate(length)?;
        file.sync()?;
        files.sync()?;
        Ok(Self { name, file, synced: length, is_dirty: false })
    }

    /// The name of the file.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How long it is (L1).
    pub(super) fn synced(&self) -> u64 {
        self.synced
    }

    /// Appends records and returns once they are on disk. Where that fails the log is as it was, at the latest
    /// when the next records come.
    pub(super) fn commit(&mut self, records: &[u8]) -> io::Result<()> {
        self.clean()?; // D4
        self.is_dirty = true;
        match self.file.append(records).and_then(|()| self.file.sync()) {
            Ok(()) => {
                self.synced += records.len() as u64;
                self.is_dirty = false;
                Ok(())
            }
            Err(error) => {
                let _tried_again_later = self.clean();
                Err(error)
            }
        }
    }

    /// Cuts off what a failed write has left (D4). A sync that failed is not trusted to succeed later: what it was
    /// for is cut off too.
    fn clean(&mut self) -> io::Result<()> {
        if self.is_dirty {
            self.file.truncate(self.synced)?;
            self.file.sync()?;
            self.is_dirty = false;
        }
        Ok(())
    }
}
