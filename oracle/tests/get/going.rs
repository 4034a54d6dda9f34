//! Going: a command that goes on, for as long as somebody holds it.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::Outcome;

/// Nothing takes as long: what does has hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command that goes on, and what it prints.
pub(crate) struct Going {
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Going {
    pub(crate) fn start(mut command: Command) -> Outcome<Self> {
        let mut child = command.spawn()?;
        let out = child.stdout.take().ok_or("it has no output")?;
        Ok(Self { _child: child, lines: BufReader::new(out).lines() })
    }

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

/// A line of a watch without its age, which is told by another clock.
pub(crate) fn ageless(line: &str) -> String {
    let is_age = |word: &str| word.strip_suffix('s').is_some_and(|number| number.parse::<u64>().is_ok());
    line.split(' ').map(|word| if is_age(word) { "AGE" } else { word }).collect::<Vec<_>>().join(" ")
}
