//! Kubectl: the real kubectl, or a program with the same interface, with its own home directory.
//!
//! Input:  [`Binaries`] and a kubeconfig.
//! Output: [`CommandOutput`]: the output and exit code of a command.
//!
//! - It does not read the user's files, and writes only below its home directory.
//! - Dropping a command kills it, and a command that takes too long fails.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use crate::binaries::{Binaries, BuildError};

/// A command that takes longer than this hangs.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A kubectl for one server.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: PathBuf,
}

impl Kubectl {
    /// Returns the real kubectl, and builds it first if it is not cached. Its discovery cache is below `home`.
    pub fn new(kubeconfig: &Path, home: &Path) -> Result<Self, BuildError> {
        let program = Binaries::get()?.path("kubectl");
        Ok(Self { program, kubeconfig: kubeconfig.to_owned(), home: home.to_owned() })
    }

    /// Returns a copy that runs another program with kubectl's environment and kubeconfig.
    #[must_use]
    pub fn with_program(&self, program: PathBuf) -> Self {
        Self { program, ..self.clone() }
    }

    /// Returns the path of the kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns a command with an empty stdin and a piped stdout. Dropping the child kills it.
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

    /// Runs a command to completion with `input` as its stdin.
    pub async fn run(
        &self,
        args: impl IntoIterator<Item: AsRef<OsStr>>,
        input: &str,
    ) -> io::Result<CommandOutput> {
        CommandOutput::of(self.command(args), input).await
    }

    /// Runs a command to completion and returns its stdout. Fails if the exit code is not 0.
    pub async fn stdout(
        &self,
        args: impl IntoIterator<Item: AsRef<OsStr>>,
        input: &str,
    ) -> io::Result<String> {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        match self.run(&args, input).await? {
            CommandOutput { code: Some(0), out, .. } => Ok(out),
            output => Err(io::Error::other(format!("kubectl {args:?}: {output:?}"))),
        }
    }
}

/// The output and exit code of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// The exit code; `None` if a signal killed the command.
    pub code: Option<i32>,
    /// The output on stdout.
    pub out: String,
    /// The output on stderr.
    pub error: String,
}

impl CommandOutput {
    /// Runs a command to completion with `input` as its stdin. Fails with [`TimedOut`](io::ErrorKind::TimedOut) if the
    /// command takes too long.
    pub async fn of(mut command: Command, input: &str) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let write = async move {
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(input.as_bytes()).await; // the command may exit without reading it
            }
        };
        let output = timeout(TIMEOUT, async { tokio::join!(child.wait_with_output(), write).0 }).await;
        let output = output.map_err(|_| {
            io::Error::new(
                io::ErrorKind::TimedOut,
                format!("{:?} timed out after {TIMEOUT:?}", command.as_std()),
            )
        })??;
        let text = |bytes| String::from_utf8(bytes).map_err(io::Error::other);
        Ok(Self { code: output.status.code(), out: text(output.stdout)?, error: text(output.stderr)? })
    }
}
