//! Directory: [`Files`] on a real disk, locked against other processes.
//!
//! Objects may be secrets, so everything created here is readable only by its owner.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::error::OpenError;
use super::files::{Appender, Files};
use super::mark::MARK_FILE;
use super::{KEYRING, LOG, SNAPSHOT, revision_in};

/// The file that is locked while a process uses the directory. The operating system releases the lock when the
/// process ends.
const LOCK: &str = "lock";

#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// Holds the lock; closing the file releases it.
    _lock: File,
}

impl Directory {
    /// Opens a directory, creating it if necessary, and locks it.
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Io { path: path.to_owned(), source };
        make(path).map_err(failed)?;
        restrict(&path.join(LOCK))?; // checked before it is opened: opening a FIFO would block
        let lock =
            private().write(true).create(true).truncate(false).open(path.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {
                let directory = Self { path: path.to_owned(), _lock: lock };
                for name in directory.list().map_err(failed)?.iter().filter(|name| is_ours(name)) {
                    restrict(&path.join(name))?;
                }
                Ok(directory)
            }
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse { directory: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

/// Creates a directory and its parents. The new entry is on disk when this returns.
fn make(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Returns whether the store reads a file with this name.
fn is_ours(name: &str) -> bool {
    [KEYRING, MARK_FILE].contains(&name)
        || [LOG, SNAPSHOT].iter().any(|kind| revision_in(name, kind).is_some())
}

/// Checks that a file, if it exists, is a regular one, and removes the permissions of group and others.
fn restrict(path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::Io { path: path.to_owned(), source };
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.map_err(failed)?,
    };
    if !metadata.is_file() {
        return Err(failed(io::Error::other("not a regular file")));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700)).map_err(failed)?;
            tracing::warn!(
                "{} had mode {mode:04o} and is now {:04o}: others could have read the secrets in it",
                path.display(),
                mode & 0o700
            );
        }
    }
    Ok(())
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

impl Files for Directory {
    fn list(&self) -> io::Result<Vec<String>> {
        let names = fs::read_dir(&self.path)?.map(|entry| entry.map(|entry| entry.file_name().into_string()));
        // Names that are not UTF-8 are not ours.
        names.filter_map(|name| name.map(Result::ok).transpose()).collect()
    }

    fn read(&self, name: &str) -> io::Result<(Box<dyn Read>, u64)> {
        let file = File::open(self.path.join(name))?;
        let length = file.metadata()?.len();
        Ok((Box::new(io::BufReader::with_capacity(1 << 16, file)), length))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Appender>> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(Box::new(private().append(true).create_new(true).open(path)?)),
        }
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn Appender>> {
        Ok(Box::new(private().append(true).open(self.path.join(name))?))
    }

    fn overwrite(&self, name: &str) -> io::Result<Box<dyn Appender>> {
        Ok(Box::new(private().write(true).open(self.path.join(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.path.clone() } else { self.path.join(name) }
    }
}

impl Appender for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn overwrite(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(io::SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data() // includes the length, without which the data would be unreachable
    }
}
