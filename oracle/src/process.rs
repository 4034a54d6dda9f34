//! Process: a server that does not outlive its owner.
//!
//! Input:  [`Cluster`](crate::Cluster) and [`EtcdServer`](crate::EtcdServer), which own it.
//! Output: the Go program `keeper`, which runs the server and whose stdin is a pipe from us.
//!
//! Invariants:
//! - `process.K1`: dropping a `Process` kills the server and waits for it.
//! - `process.K2`: when our process ends, even by SIGKILL, the kernel closes the pipe; `keeper` then kills the server
//!   and removes the directory.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::binaries::Binaries;

/// The number of bytes of a log to include in an error.
const LOG_TAIL: u64 = 4096;

/// A running server and the `keeper` that watches over it.
#[derive(Debug)]
pub(crate) struct Process {
    name: &'static str,
    keeper: Child,
    log: PathBuf,
}

impl Process {
    /// Starts the named binary. Its output goes to a log file in the directory.
    pub(crate) fn start(
        binaries: &Binaries,
        name: &'static str,
        directory: &Path,
        arguments: impl IntoIterator<Item = String>,
    ) -> io::Result<Self> {
        let log = directory.join(name).with_extension("log");
        let output = File::options().create(true).append(true).open(&log)?;
        let keeper = Command::new(binaries.path("keeper"))
            .arg(directory)
            .arg(binaries.path(name))
            .args(arguments)
            .stdin(Stdio::piped()) // process.K2
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        Ok(Self { name, keeper, log })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the server's process id, or `None` if it has exited. The server is keeper's only child.
    pub(crate) fn id(&self) -> io::Result<Option<u32>> {
        let keeper = self.keeper.id();
        let children = std::fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children"))?;
        Ok(children.split_whitespace().next().and_then(|id| id.parse().ok()))
    }

    /// Sends SIGKILL to the server and waits for it. Unlike dropping a running process, this keeps the directory.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        let pipe = self.keeper.stdin.take(); // `wait` closes stdin, and keeper would then remove the directory
        if let Some(server) = self.id()? {
            Command::new("kill").args(["-KILL", &server.to_string()]).status()?;
        }
        self.keeper.wait()?;
        drop(pipe);
        Ok(())
    }

    /// Returns the exit status if the server has exited.
    pub(crate) fn exited(&mut self) -> io::Result<Option<ExitStatus>> {
        self.keeper.try_wait()
    }

    /// Returns the end of the server's log.
    pub(crate) fn log_tail(&self) -> String {
        let read = || -> io::Result<String> {
            let mut file = File::open(&self.log)?;
            let size = file.metadata()?.len();
            file.seek(SeekFrom::Start(size.saturating_sub(LOG_TAIL)))?;
            let mut tail = Vec::new();
            file.read_to_end(&mut tail)?;
            Ok(String::from_utf8_lossy(&tail).into_owned())
        };
        read().unwrap_or_else(|error| format!("(failed to read the log: {error})"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take()); // process.K1: keeper kills the server when its stdin is closed
        let _ = self.keeper.wait(); // fails only if `kill` has already waited for it
    }
}
