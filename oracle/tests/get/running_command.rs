//! Running command: a command that runs until it is dropped, such as a watch.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::Outcome;

/// Time limit for a line to be printed.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running command and its standard output. The command is killed on drop.
pub(crate) struct RunningCommand {
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl RunningCommand {
    pub(crate) fn start(mut command: Command) -> Outcome<Self> {
        let mut child = command.spawn()?;
        let out = child.stdout.take().ok_or("stdout is not a pipe")?;
        Ok(Self { _child: child, lines: BufReader::new(out).lines() })
    }

    /// Returns whether the command prints a line within 200 ms. The line is discarded.
    pub(crate) async fn prints_a_line_soon(&mut self) -> Outcome<bool> {
        match timeout(Duration::from_millis(200), self.lines.next_line()).await {
            Ok(line) => Ok(line?.is_some()),
            Err(_) => Ok(false),
        }
    }

    /// Skips all lines up to and including the first one that contains `text`.
    pub(crate) async fn skip_until(&mut self, text: &str) -> Outcome {
        while !self.lines(1).await?[0].contains(text) {}
        Ok(())
    }

    /// Returns the next `count` lines.
    pub(crate) async fn lines(&mut self, count: usize) -> Outcome<Vec<String>> {
        let mut lines = Vec::with_capacity(count);
        while lines.len() < count {
            let line = timeout(TIMEOUT, self.lines.next_line()).await;
            let line = line.map_err(|_| format!("no further line within {TIMEOUT:?} after {lines:#?}"))??;
            lines.push(line.ok_or_else(|| format!("the command exited after {lines:#?}"))?);
        }
        Ok(lines)
    }
}

/// Replaces ages in a line: the two programs compute them at different times.
pub(crate) fn ageless(line: &str) -> String {
    let is_age = |word: &str| word.strip_suffix('s').is_some_and(|number| number.parse::<u64>().is_ok());
    line.split(' ').map(|word| if is_age(word) { "AGE" } else { word }).collect::<Vec<_>>().join(" ")
}
