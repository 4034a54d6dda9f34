//! Small files kept in the data directory beside the objects, under its lock.
//!
//! Invariants:
//! - `side_files.B1`: a crash during a write leaves either the new file or the old one, whole.

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use super::draft_name;
use super::error::OpenError;
use super::files::Files;

/// The maximum number of bytes read from a file: more than any file kept here has.
const BYTES: u64 = 64 << 10;

#[derive(Debug)]
pub(crate) struct SideFiles {
    files: Arc<dyn Files>,
}

impl SideFiles {
    pub(super) fn new(files: Arc<dyn Files>) -> Self {
        Self { files }
    }

    /// Reads a file, up to [`BYTES`]; returns `None` if it does not exist.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, OpenError> {
        let read = self.files.read(name).and_then(|(file, _)| {
            let mut bytes = Vec::new();
            file.take(BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        match read {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(OpenError::Io { path: self.path(name), source }),
        }
    }

    /// Creates or replaces a file (`side_files.B1`). It is on disk when this returns.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OpenError> {
        let draft = draft_name(name);
        let written = self.files.create(&draft).and_then(|mut file| {
            file.append(bytes)?;
            file.sync()?;
            self.files.rename(&draft, name)?;
            self.files.sync()
        });
        written.map_err(|source| {
            let _may_not_be_there = self.files.remove(&draft);
            OpenError::Io { path: self.path(name), source }
        })
    }

    /// Returns the path of a file, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.files.path(name)
    }
}
