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
    /// Nothing was changed. Restore the directory from a copy, or give up what comes after the damage.
    #[error("{} {damage}; {}", path.display(), remedy(path, damage))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, and what.
        damage: Damage,
    },
    /// Nothing was changed. Bring the file back, or restore the directory from a copy.
    #[error("{} is missing: changes after revision {after} cannot be read, so that the data directory must be restored from a copy", path.display())]
    Missing {
        /// The file that must be there.
        path: PathBuf,
        /// What is known.
        after: u64,
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

/// What can be done about a damaged file.
fn remedy(path: &std::path::Path, damage: &Damage) -> String {
    let is_log =
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(super::LOG));
    match is_log && damage.offset > 0 {
        true => format!(
            "restore the data directory from a copy, or give up this change and all later ones: cut the file off \
             with `truncate -s {} {}` and remove the logs after it",
            damage.offset,
            path.display()
        ),
        false => "restore the data directory from a copy".to_owned(),
    }
}
