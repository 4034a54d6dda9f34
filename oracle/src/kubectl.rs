//! Kubectl: the real one, or a program that is used like it, at a server and in a home of its own.
//!
//! From: [`Binaries`], and a kubeconfig that somebody has written.
//! To:   [`Said`]: all that a command has printed, and how it ended.
//!
//! - It reads no file of whoever runs the tests, and leaves none but in its home.
//! - A command that was dropped has been killed, and one that takes too long is an error.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use crate::binaries::{Binaries, BuildError};

/// Nothing that ends takes as long: what does has hung.
const PATIENCE: Duration = Duration::from_secs(120);

/// kubectl, with the server that it talks to.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: PathBuf,
}

impl Kubectl {
    /// The real kubectl, which is built first if need be. What it remembers of the server is below its home.
    pub fn new(kubeconfig: &Path, home: &Path) -> Result<Self, BuildError> {
        let program = Binaries::get()?.path("kubectl");
        Ok(Self { program, kubeconfig: kubeconfig.to_owned(), home: home.to_owned() })
    }

    /// Another program in its place, which finds the server as kubectl does.
    #[must_use]
    pub fn replaced_by(&self, program: PathBuf) -> Self {
        Self { program, ..self.clone() }
    }

    /// The file that tells it of the server.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A command that reads nothing and whose output is a pipe. It is killed when the child is dropped.
    pub fn command(&self, args: impl IntoIterator<Item: AsRef<OsStr>>) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .env("KUBECACHEDIR", self.home.join("kubectl-cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs a command to its end, with something to read.
    pub async fn run(&self, args: impl IntoIterator<Item: AsRef<OsStr>>, input: &str) -> io::Result<Said> {
        Said::of(self.command(args), input).await
    }

    /// What a command prints that must succeed.
    pub async fn says(&self, args: impl IntoIterator<Item: AsRef<OsStr>>, input: &str) -> io::Result<String> {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        match self.run(&args, input).await? {
            Said { code: Some(0), out, .. } => Ok(out),
            said => Err(io::Error::other(format!("kubectl {args:?}: {said:?}"))),
        }
    }
}

/// What a command has said, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// How it exited; none where it was killed.
    pub code: Option<i32>,
    /// What it printed.
    pub out: String,
    /// What it complained of.
    pub error: String,
}

impl Said {
    /// Runs a command to its end, with something to read. What does not end in time is
    /// [`TimedOut`](io::ErrorKind::TimedOut).
    pub async fn of(mut command: Command, input: &str) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let write = async move {
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(input.as_bytes()).await; // it may not want to read
            }
        };
        let ended = timeout(PATIENCE, async { tokio::join!(child.wait_with_output(), write).0 }).await;
        let ended = ended.map_err(|_| {
            io::Error::new(io::ErrorKind::TimedOut, format!("it does not end: {:?}", command.as_std()))
        })??;
        let text = |bytes| String::from_utf8(bytes).map_err(io::Error::other);
        Ok(Self { code: ended.status.code(), out: text(ended.stdout)?, error: text(ended.stderr)? })
    }
}
