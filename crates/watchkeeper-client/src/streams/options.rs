//! Options of pod streams.

use watchkeeper_core::Timestamp;

use super::Protocol;
use crate::rest::Request;

/// Options of a log. The default is the whole log of the only container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// The container; required if the pod has several.
    pub container: Option<String>,
    /// Whether to keep the stream open for new lines.
    pub follow: bool,
    /// Whether to read the log of the previous instance of the container.
    pub previous: bool,
    /// Where to start.
    pub since: Option<LogSince>,
    /// Whether to prefix each line with its timestamp.
    pub timestamps: bool,
    /// Number of lines to return from the end of the log.
    pub tail_lines: Option<u64>,
    /// Maximum number of bytes, after which the log ends even within a line.
    pub limit_bytes: Option<u64>,
    /// The output to read. Many servers support only both together; leave it unset for them.
    pub stream: Option<LogStream>,
}

/// The start of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogSince {
    /// This many seconds ago, by the clock of the node.
    Seconds(u64),
    /// At this time. The server uses whole seconds.
    Time(Timestamp),
}

/// The output that a log contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStream {
    /// stdout and stderr.
    All,
    /// stdout only.
    Stdout,
    /// stderr only.
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
            let name = match stream {
                LogStream::All => "All",
                LogStream::Stdout => "Stdout",
                LogStream::Stderr => "Stderr",
            };
            ("stream", name.to_owned())
        }));
        request.params(query)
    }
}

/// Options of exec and attach. The default is both outputs without stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOptions {
    /// The container; required if the pod has several.
    pub container: Option<String>,
    /// Whether to open stdin.
    pub stdin: bool,
    /// Whether to open stdout.
    pub stdout: bool,
    /// Whether to open stderr. With a terminal it is merged into stdout.
    pub stderr: bool,
    /// Whether to allocate a terminal.
    pub tty: bool,
    /// The protocols to offer, preferred first; both by default.
    pub protocols: Vec<Protocol>,
}

impl Default for ExecOptions {
    fn default() -> Self {
        let protocols = vec![Protocol::V5, Protocol::V4];
        Self { container: None, stdin: false, stdout: true, stderr: true, tty: false, protocols }
    }
}

impl ExecOptions {
    /// Returns whether stderr is a stream of its own.
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
