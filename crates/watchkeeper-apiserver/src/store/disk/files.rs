//! Files: what a store needs of a directory, so that tests can have one that fails.

use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;

/// A directory that nobody else writes to.
pub(super) trait Files: fmt::Debug + Send + Sync {
    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;

    /// A file from its beginning, and its length.
    fn read(&self, name: &str) -> io::Result<(Box<dyn Read>, u64)>;

    /// An empty file to append to. What was there under this name is gone.
    fn create(&self, name: &str) -> io::Result<Box<dyn Appender>>;

    /// A file that is there, to append to.
    fn append(&self, name: &str) -> io::Result<Box<dyn Appender>>;

    /// A file that is there, to [overwrite](Appender::overwrite) parts of.
    fn overwrite(&self, name: &str) -> io::Result<Box<dyn Appender>>;

    /// Gives a file another name. What was there under that name is gone.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Returns once all names that were given and removed are on disk.
    fn sync(&self) -> io::Result<()>;

    /// Where a file is, for messages.
    fn path(&self, name: &str) -> PathBuf;
}

/// A file that grows, or parts of which are overwritten, as it was opened.
pub(super) trait Appender: fmt::Debug + Send {
    /// Appends bytes: all of them, or where it fails perhaps some.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Replaces bytes that are there.
    fn overwrite(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file off.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Returns once what was appended, overwritten and cut is on disk.
    fn sync(&mut self) -> io::Result<()>;
}
