//! Binaries: the real things and our Go programs, as files that can be run.
//!
//! From: the script `build` beside this crate's manifest, which builds what its cache does not have yet.
//! To:   [`Cluster`](crate::Cluster) and the tests, which run them by name.
//!
//! A first build takes minutes; after that the script answers at once.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;

/// Why there are no binaries.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The script could not be run at all.
    #[error("oracle/build could not be run")]
    Script(#[source] io::Error),
    /// The script ran and failed; it has said why on stderr.
    #[error("oracle/build failed with {0}")]
    Failed(ExitStatus),
}

/// The directory that holds kube-apiserver, kube-controller-manager, kubectl, etcd and the programs under `cmd/`.
#[derive(Debug)]
pub struct Binaries {
    directory: PathBuf,
}

impl Binaries {
    /// Returns the binaries, and builds them first if need be: a call may take many minutes.
    pub fn get() -> Result<&'static Self, BuildError> {
        static BINARIES: OnceLock<Binaries> = OnceLock::new();
        if let Some(built) = BINARIES.get() {
            return Ok(built);
        }
        // Two threads may both come here: the script lets one of them build and the other wait.
        let built = Self::build()?;
        Ok(BINARIES.get_or_init(|| built))
    }

    fn build() -> Result<Self, BuildError> {
        let script = Command::new(checkout().join("build"))
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

    /// Where the binary of that name lies: `kubectl`, say, or `objects`.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// The directory of this crate's manifest, which is the Go module's too.
pub(crate) fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
