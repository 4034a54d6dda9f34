//! Beside: small files that are kept in the directory with the objects, under its lock.
//!
//! - B1: a file is there as it was written last, or as it was before, whatever happens while it is written.

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use super::draft_name;
use super::error::OpenError;
use super::files::Files;

/// How much of a file is read: more than any has that is kept here.
const BYTES: u64 = 64 << 10;

#[derive(Debug)]
pub(crate) struct Beside {
    files: Arc<dyn Files>,
}

impl Beside {
    pub(super) fn new(files: Arc<dyn Files>) -> Self {
        Self { files }
    }

    /// A file, as far as [`BYTES`]; `None` where there is none.
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

    /// Writes a file, in place of one that may be there (B1). It is on disk when this returns.
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

    /// Where a file is, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.files.path(name)
    }
}
