//! Binaries: the Kubernetes and etcd executables, and our Go programs.
//!
//! Input:  the script `build` beside this crate's manifest, which builds what is missing from its cache.
//! Output: paths by name, for [`Cluster`](crate::Cluster) and the tests.
//!
//! The first build takes minutes; later runs of the script return at once.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;

/// Why the binaries could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The script could not be started.
    #[error("failed to run oracle/build")]
    Script(#[source] io::Error),
    /// The script failed; its stderr has the reason.
    #[error("oracle/build failed with {0}")]
    Failed(ExitStatus),
}

/// The directory that holds kube-apiserver, kube-controller-manager, kubectl, etcd and the programs under `cmd/`.
#[derive(Debug)]
pub struct Binaries {
    directory: PathBuf,
}

impl Binaries {
    /// Returns the binaries. Builds them first if they are not cached, which can take many minutes.
    pub fn get() -> Result<&'static Self, BuildError> {
        static BINARIES: OnceLock<Binaries> = OnceLock::new();
        if let Some(built) = BINARIES.get() {
            return Ok(built);
        }
        // Two threads may get here at once: the script's lock makes the second wait for the first.
        let built = Self::build()?;
        Ok(BINARIES.get_or_init(|| built))
    }

    fn build() -> Result<Self, BuildError> {
        let script = Command::new(manifest_dir().join("build"))
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(BuildError::Script)?;
        if !script.status.success() {
            return Err(BuildError::Failed(script.status));
        }
        let last = script.stdout.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok(Self { directory: PathBuf::from(OsStr::from_bytes(last)) })
    }

    /// Returns the path of the named binary, such as `kubectl` or `objects`.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// Returns the directory of this crate's manifest, which is also the root of the Go module.
pub(crate) fn manifest_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
