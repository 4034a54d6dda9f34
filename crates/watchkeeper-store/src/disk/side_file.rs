//! A small file kept in the data directory beside the objects, under its lock.
//!
//! Invariants:
//! - `side_file.B1`: a crash during a write leaves either the new file or the old one, whole.

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use super::draft_name;
use super::error::OpenError;
use super::files::Files;

/// The maximum number of bytes read from a file: more than any file kept here has.
const BYTES: u64 = 64 << 10;

/// A small file in the directory of a [`DiskStore`](super::DiskStore), readable only by its owner.
#[derive(Debug)]
pub struct SideFile {
    files: Arc<dyn Files>,
    name: &'static str,
}

impl SideFile {
    pub(super) fn new(files: Arc<dyn Files>, name: &'static str) -> Self {
        Self { files, name }
    }

    /// Reads the file, up to 64 KiB; returns `None` if it does not exist.
    ///
    /// # Errors
    /// [`OpenError::Io`] if it cannot be read.
    pub fn read(&self) -> Result<Option<Vec<u8>>, OpenError> {
        let read = self.files.read(self.name).and_then(|(file, _)| {
            let mut bytes = Vec::new();
            file.take(BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        match read {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(OpenError::Io { path: self.path(), source }),
        }
    }

    /// Creates or replaces the file (`side_file.B1`). It is on disk when this returns.
    ///
    /// # Errors
    /// [`OpenError::Io`] if it cannot be written.
    pub fn write(&self, bytes: &[u8]) -> Result<(), OpenError> {
        let draft = draft_name(self.name);
        let written = self.files.create(&draft).and_then(|mut file| {
            file.append(bytes)?;
            file.sync()?;
            self.files.rename(&draft, self.name)?;
            self.files.sync()
        });
        written.map_err(|source| {
            let _may_not_exist = self.files.remove(&draft);
            OpenError::Io { path: self.path(), source }
        })
    }

    /// Returns the path of the file, for messages.
    pub fn path(&self) -> PathBuf {
        self.files.path(self.name)
    }
}
