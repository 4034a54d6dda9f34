//! Why a store on disk could not be opened, sorted by what happens next.

use std::io;
use std::path::PathBuf;

use super::Damage;

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Choose another directory, or end the other process.
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
        /// What it says.
        version: u32,
    },
    /// Nothing was changed. Restore the directory from a copy, or accept the loss.
    #[error("{} {damage}; {REMEDY}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, and what.
        damage: Damage,
    },
    /// Nothing was changed. Bring the file back, restore the directory from a copy, or accept the loss.
    #[error("{} is missing: changes after revision {after} cannot be read; {REMEDY}", path.display())]
    Missing {
        /// The file that must be there.
        path: PathBuf,
        /// What is known.
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
        /// How long it was.
        length: u64,
        /// The revision of the last acknowledged change.
        acknowledged: u64,
        /// The revision of the last change that is there.
        found: u64,
    },
    /// See whether the directory can be read and written.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// What can be done about a loss.
const REMEDY: &str = "restore the data directory from a copy, or start with --recover to keep what can be read and lose the rest";

impl OpenError {
    /// Whether acknowledged changes may be missing, which [`DiskStore::recover`](super::DiskStore::recover) accepts.
    pub(super) fn is_loss(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Missing { .. } | Self::Lost { .. })
    }
}
