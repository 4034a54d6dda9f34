//! Programs: the commands that exec understands.

use bytes::Bytes;
use serde_json::{Value, json};
use watchkeeper_apiserver::http::Query;

use super::websocket::{Channels, Frame};

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;

/// A requested program.
pub(super) struct Program {
    command: Vec<String>,
    stdin: bool,
    stdout: bool,
    stderr: bool,
}

impl Program {
    /// Reads a request; `None` if no stream is requested.
    pub(super) fn read(query: &Query, command: Vec<String>) -> Option<Self> {
        let wants = |name: &str| query.switch(name) == Some(true);
        let stderr = wants("error") && !wants("tty");
        let program = Self { command, stdin: wants("input"), stdout: wants("output"), stderr };
        (program.stdin || program.stdout || program.stderr).then_some(program)
    }

    /// Runs to the end and sends the exit status, unless the client disconnects first.
    pub(super) async fn run(self, mut channels: Channels) {
        let first = match (self.stdout, self.stderr) {
            (true, _) => STDOUT,
            (false, true) => STDERR,
            (false, false) => ERROR,
        };
        channels.send(first, b"").await; // announces the start
        let words: Vec<&str> = self.command.iter().map(String::as_str).collect();
        let status = match words[..] {
            ["echo", ref words @ ..] => {
                self.write(&mut channels, STDOUT, format!("{}\n", words.join(" ")).as_bytes()).await;
                Some(success())
            }
            ["complain", ref words @ ..] => {
                self.write(&mut channels, STDERR, format!("{}\n", words.join(" ")).as_bytes()).await;
                Some(success())
            }
            ["exit", code] => Some(exit(code)),
            ["cat"] => self.cat(&mut channels).await,
            ["size"] => self.size(&mut channels).await,
            ["hang"] => {
                while !matches!(channels.next().await, Frame::Gone) {}
                None
            }
            _ => Some(failure(&words)),
        };
        if let Some(status) = status {
            channels.send(ERROR, status.to_string().as_bytes()).await;
            channels.close().await;
        }
    }

    /// Writes to a channel, if it was requested. With a terminal, there is no stderr.
    async fn write(&self, channels: &mut Channels, channel: u8, bytes: &[u8]) {
        match channel {
            STDOUT if self.stdout => channels.send(STDOUT, bytes).await,
            STDERR if self.stderr => channels.send(STDERR, bytes).await,
            _ => {}
        }
    }

    async fn cat(&self, channels: &mut Channels) -> Option<Value> {
        if !self.stdin {
            return Some(success());
        }
        loop {
            match channels.next().await {
                Frame::Data(STDIN, bytes) => self.write(channels, STDOUT, &bytes).await,
                Frame::Close(STDIN) => return Some(success()),
                Frame::Data(..) | Frame::Close(_) => {}
                Frame::Gone => return None,
            }
        }
    }

    async fn size(&self, channels: &mut Channels) -> Option<Value> {
        loop {
            match channels.next().await {
                Frame::Data(RESIZE, bytes) => {
                    let size = text(&bytes);
                    self.write(channels, STDOUT, size.as_bytes()).await;
                    return Some(success());
                }
                Frame::Data(..) | Frame::Close(_) => {}
                Frame::Gone => return None,
            }
        }
    }
}

/// Formats a terminal size as `80x24`.
fn text(size: &Bytes) -> String {
    let size: Value = serde_json::from_slice(size).unwrap_or_default();
    format!("{}x{}\n", size["Width"], size["Height"])
}

fn success() -> Value {
    json!({"metadata": {}, "status": "Success"})
}

fn exit(code: &str) -> Value {
    match code {
        "0" => success(),
        code => json!({
            "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
            "message": format!("command terminated with non-zero exit code: exit status {code}"),
            "details": {"causes": [{"reason": "ExitCode", "message": code}]},
        }),
    }
}

fn failure(words: &[&str]) -> Value {
    let program = words.first().copied().unwrap_or_default();
    let message = format!("Internal error occurred: there is no program {program:?}");
    json!({"metadata": {}, "status": "Failure", "reason": "InternalError", "message": message, "code": 500})
}
