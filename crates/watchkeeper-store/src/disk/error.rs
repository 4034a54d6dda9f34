//! Errors of opening a store on disk.

use std::io;
use std::path::PathBuf;

use super::Damage;

/// The reason that a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Choose another directory, or stop the other process.
    #[error("data directory {} is in use by another process", directory.display())]
    InUse {
        /// The directory.
        directory: PathBuf,
    },
    /// Use the version that wrote it, or a newer one.
    #[error("{} has format version {version}, and this program reads version {}", path.display(), super::frame::VERSION)]
    Version {
        /// The file.
        path: PathBuf,
        /// The version found in the file.
        version: u32,
    },
    /// Nothing was changed. Restore the directory from a copy, or accept the loss.
    #[error("{} {damage}; {REMEDY}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The offset and the reason.
        damage: Damage,
    },
    /// Nothing was changed. Bring the file back, restore the directory from a copy, or accept the loss.
    #[error("{} is missing: changes after revision {after} cannot be read; {REMEDY}", path.display())]
    Missing {
        /// The missing file.
        path: PathBuf,
        /// The last revision that can be read.
        after: u64,
    },
    /// Nothing was changed. Restore the directory from a copy, or accept the loss.
    #[error(
        "acknowledged changes are missing: the data directory ends at revision {found}, but revision {acknowledged} \
         was acknowledged, at byte {length} of {}; {REMEDY}",
        path.display()
    )]
    Lost {
        /// The log that the last acknowledged change was written to.
        path: PathBuf,
        /// The length the log had, in bytes.
        length: u64,
        /// The revision of the last acknowledged change.
        acknowledged: u64,
        /// The revision of the last change in the directory.
        found: u64,
    },
    /// Check that the directory can be read and written.
    #[error("failed to read or write {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Advice appended to errors about lost changes.
const REMEDY: &str = "restore the data directory from a copy, or start with --recover to keep what can be read and lose the rest";

impl OpenError {
    /// Returns whether acknowledged changes may be missing, which [`DiskStore::recover`](super::DiskStore::recover)
    /// accepts.
    pub(super) fn is_loss(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Missing { .. } | Self::Lost { .. })
    }
}
