//! Process: one server of a cluster, which ends when its owner does.
//!
//! From: [`Cluster`](crate::Cluster), which starts it and drops it.
//! To:   the Go program `keeper`, which runs the server and holds the other end of a pipe to us.
//!
//! - K1: when a `Process` has been dropped, its server has been killed and reaped.
//! - K2: when our process is gone, however it went, the pipe is closed, and `keeper` kills the server and removes
//!   the cluster's directory.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::binaries::Binaries;

/// How much of a log goes into an error.
const TAIL: u64 = 4096;

#[derive(Debug)]
pub(crate) struct Process {
    name: &'static str,
    keeper: Child,
    log: PathBuf,
}

impl Process {
    /// Starts the binary of that name; its output goes to a log in the directory.
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
            .stdin(Stdio::piped()) // K2
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        Ok(Self { name, keeper, log })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The server's process, which is keeper's only child; none where it has ended.
    pub(crate) fn id(&self) -> io::Result<Option<u32>> {
        let keeper = self.keeper.id();
        let children = std::fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children"))?;
        Ok(children.split_whitespace().next().and_then(|id| id.parse().ok()))
    }

    /// Kills the server as it stands. Its directory stays, unlike when the process is dropped while it runs.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        let pipe = self.keeper.stdin.take(); // which waiting would close, and that would remove the directory
        if let Some(server) = self.id()? {
            Command::new("kill").args(["-KILL", &server.to_string()]).status()?;
        }
        self.keeper.wait()?;
        drop(pipe);
        Ok(())
    }

    /// How the server ended, if it has.
    pub(crate) fn exited(&mut self) -> io::Result<Option<ExitStatus>> {
        self.keeper.try_wait()
    }

    /// The end of the server's log.
    pub(crate) fn log_tail(&self) -> String {
        let read = || -> io::Result<String> {
            let mut file = File::open(&self.log)?;
            let size = file.metadata()?.len();
            file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))?;
            let mut tail = Vec::new();
            file.read_to_end(&mut tail)?;
            Ok(String::from_utf8_lossy(&tail).into_owned())
        };
        read().unwrap_or_else(|error| format!("(the log could not be read: {error})"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take()); // tells keeper to end it
        let _ = self.keeper.wait(); // fails only if it was waited for already, and then it has ended
    }
}
