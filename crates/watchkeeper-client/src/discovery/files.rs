//! Cache files: read within a TTL and replaced atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Reads a file that was modified within `ttl`; `None` if it is older or cannot be read.
pub(super) fn read_within(path: &Path, ttl: Duration) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let written = file.metadata().ok()?.modified().ok()?;
    // A modification time in the future counts as new.
    if SystemTime::now().duration_since(written).is_ok_and(|age| age > ttl) {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Replaces a file atomically, through a new file in `temporary`. Directories have mode 0750 and files 0660, as
/// kubectl's.
pub(super) fn replace(path: &Path, temporary: &Path, bytes: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("cache");
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let new = temporary.join(format!("{name}.{}-{number}", std::process::id()));
    for directory in path.parent().into_iter().chain([temporary]) {
        create_directory(directory)?;
    }
    let written =
        create(&new).and_then(|mut file| file.write_all(bytes)).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new); // best effort: the first error is returned
    }
    written
}

#[cfg(unix)]
fn create_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o750).create(path)
}

#[cfg(not(unix))]
fn create_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

#[cfg(unix)]
fn create(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o660))?;
    Ok(file)
}

#[cfg(not(unix))]
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}
