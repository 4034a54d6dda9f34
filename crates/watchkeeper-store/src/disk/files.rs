//! Files: the operations the store needs from a directory, so that tests can substitute one that fails.

use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;

/// A directory with a single writer.
pub(super) trait Files: fmt::Debug + Send + Sync {
    /// Returns the names of all files.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Opens a file for reading from the start, and returns its length.
    fn read(&self, name: &str) -> io::Result<(Box<dyn Read>, u64)>;

    /// Creates an empty file to append to, replacing any file of this name.
    fn create(&self, name: &str) -> io::Result<Box<dyn Appender>>;

    /// Opens an existing file to append to.
    fn append(&self, name: &str) -> io::Result<Box<dyn Appender>>;

    /// Opens an existing file to [overwrite](Appender::overwrite) parts of.
    fn overwrite(&self, name: &str) -> io::Result<Box<dyn Appender>>;

    /// Renames a file, replacing any file of the new name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Syncs the directory: returns once all created, renamed and removed names are on disk.
    fn sync(&self) -> io::Result<()>;

    /// Returns the path of a file, for messages.
    fn path(&self, name: &str) -> PathBuf;
}

/// An open file that is appended to or partly overwritten, depending on how it was opened.
pub(super) trait Appender: fmt::Debug + Send {
    /// Appends all bytes, or possibly some of them if it fails.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Overwrites existing bytes.
    fn overwrite(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Truncates the file.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Returns once everything appended, overwritten and truncated is on disk.
    fn sync(&mut self) -> io::Result<()>;
}
