//! Sides: kubectl and watchkeeper at the same server, each in a home of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::Outcome;

/// Nothing takes as long: what does has hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program, and the server that it reads.
pub(crate) struct Side {
    program: PathBuf,
    home: PathBuf,
    kubeconfig: PathBuf,
}

/// What a command has said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) error: String,
    pub(crate) code: Option<i32>,
}

/// A command that goes on, and what it prints.
pub(crate) struct Going {
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Side {
    pub(crate) fn new(program: &Path, home: PathBuf, kubeconfig: &Path) -> Outcome<Self> {
        std::fs::create_dir_all(&home)?;
        Ok(Self { program: program.to_owned(), home, kubeconfig: kubeconfig.to_owned() })
    }

    pub(crate) fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env("HOME", &self.home)
            .env("KUBECACHEDIR", self.home.join("cache"))
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, arguments: &[String]) -> Outcome<Said> {
        let output = timeout(PATIENCE, self.command(arguments).output()).await??;
        Ok(Said {
            out: String::from_utf8(output.stdout)?,
            error: String::from_utf8(output.stderr)?,
            code: output.status.code(),
        })
    }

    /// Starts a command that goes on until it is dropped.
    pub(crate) fn start(&self, arguments: &[String]) -> Outcome<Going> {
        let mut child = self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let out = child.stdout.take().ok_or("it has no output")?;
        Ok(Going { _child: child, lines: BufReader::new(out).lines() })
    }
}

impl Going {
    /// Whether a line comes soon, which is lost.
    pub(crate) async fn says_something(&mut self) -> Outcome<bool> {
        match timeout(Duration::from_millis(200), self.lines.next_line()).await {
            Ok(line) => Ok(line?.is_some()),
            Err(_) => Ok(false),
        }
    }

    /// Leaves out what comes before the line that has this in it, and that line.
    pub(crate) async fn skip_until(&mut self, text: &str) -> Outcome {
        while !self.lines(1).await?[0].contains(text) {}
        Ok(())
    }

    /// The next lines, so many of them.
    pub(crate) async fn lines(&mut self, count: usize) -> Outcome<Vec<String>> {
        let mut lines = Vec::with_capacity(count);
        while lines.len() < count {
            let line = timeout(PATIENCE, self.lines.next_line()).await;
            let line = line.map_err(|_| format!("no more than {lines:#?}"))??;
            lines.push(line.ok_or_else(|| format!("it has ended after {lines:#?}"))?);
        }
        Ok(lines)
    }
}
