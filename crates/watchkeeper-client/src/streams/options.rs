//! Options: what is asked of a stream.

use watchkeeper_core::Timestamp;

use super::Protocol;
use crate::rest::Request;

/// Which log, and how much of it. By default all there is of the only container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// The container; needed where a pod has several.
    pub container: Option<String>,
    /// Whether it goes on with what comes.
    pub follow: bool,
    /// Whether it is that of the container that ran before this one.
    pub previous: bool,
    /// Where it begins.
    pub since: Option<LogSince>,
    /// Whether every line begins with the moment at which it was written.
    pub timestamps: bool,
    /// How many lines of the end are wanted.
    pub tail_lines: Option<u64>,
    /// After how many bytes it ends, in the midst of a line if need be.
    pub limit_bytes: Option<u64>,
    /// Whose output is wanted; most servers know only both together, and then this must not be said.
    pub stream: Option<LogStream>,
}

/// Where a log begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogSince {
    /// So many seconds ago, by the clock of the node.
    Seconds(u64),
    /// At this moment. The server looks at whole seconds only.
    Time(Timestamp),
}

/// Whose output a log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStream {
    /// Both.
    All,
    /// Only that of stdout.
    Stdout,
    /// Only that of stderr.
    Stderr,
}

impl LogOptions {
    pub(super) fn apply(&self, request: Request) -> Request {
        let mut query: Vec<(&str, String)> = Vec::new();
        query.extend(self.container.clone().map(|name| ("container", name)));
        for (name, is_set) in
            [("follow", self.follow), ("previous", self.previous), ("timestamps", self.timestamps)]
        {
            query.extend(is_set.then(|| (name, "true".to_owned())));
        }
        query.extend(self.since.as_ref().map(|since| match since {
            LogSince::Seconds(seconds) => ("sinceSeconds", seconds.to_string()),
            LogSince::Time(time) => ("sinceTime", time.to_string()),
        }));
        query.extend(self.tail_lines.map(|lines| ("tailLines", lines.to_string())));
        query.extend(self.limit_bytes.map(|bytes| ("limitBytes", bytes.to_string())));
        query.extend(self.stream.map(|stream| {
            let word = match stream {
                LogStream::All => "All",
                LogStream::Stdout => "Stdout",
                LogStream::Stderr => "Stderr",
            };
            ("stream", word.to_owned())
        }));
        request.params(query)
    }
}

/// Which container, and what is wanted of the program there. By default its outputs, and no input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOptions {
    /// The container; needed where a pod has several.
    pub container: Option<String>,
    /// Whether it has an input.
    pub stdin: bool,
    /// Whether its output is wanted.
    pub stdout: bool,
    /// Whether what it says of errors is wanted. With a terminal it is part of stdout, and never apart.
    pub stderr: bool,
    /// Whether it has a terminal.
    pub tty: bool,
    /// What is offered to the server, the best first; by default both, and the server chooses.
    pub protocols: Vec<Protocol>,
}

impl Default for ExecOptions {
    fn default() -> Self {
        let protocols = vec![Protocol::V5, Protocol::V4];
        Self { container: None, stdin: false, stdout: true, stderr: true, tty: false, protocols }
    }
}

impl ExecOptions {
    /// Whether stderr comes apart from stdout.
    pub(super) fn has_stderr(&self) -> bool {
        self.stderr && !self.tty
    }

    pub(super) fn apply(&self, request: Request) -> Request {
        let flags = [
            ("stdin", self.stdin),
            ("stdout", self.stdout),
            ("stderr", self.has_stderr()),
            ("tty", self.tty),
        ];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| (name, "true"));
        let request = request.params(flags);
        match &self.container {
            Some(container) => request.param("container", container.clone()),
            None => request,
        }
    }
}
