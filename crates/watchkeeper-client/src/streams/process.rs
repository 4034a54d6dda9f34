//! A process in a container: its input, outputs and exit status.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use serde::Serialize;
use tokio::io::{AsyncWrite, DuplexStream, duplex};
use tokio::sync::mpsc;
use watchkeeper_core::{CauseType, Outcome, Status, StatusReason};

use super::output::{OutputWriter, StreamResult};
use super::session::{Outgoing, Receiver, Session};
use super::websocket::{Protocol, open};
use super::{ExecOptions, Frame, Output, PIPE_BYTES, StreamError};
use crate::rest::Request;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;

/// Maximum size of an exit status, in bytes.
const MAX_STATUS_BYTES: usize = 1 << 20;

/// The exit status of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// Exit code 0.
    Success,
    /// Any other exit code.
    Code(i32),
    /// The process was not started, or its exit code is unknown.
    Failed(Box<Status>),
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TerminalSize {
    /// Characters per line.
    pub width: u16,
    /// Number of lines.
    pub height: u16,
}

/// A process in a container. Dropping it closes its streams (`streams.W3`); whether that ends the process depends on the
/// process and the container runtime.
#[derive(Debug)]
pub struct Process {
    session: Session<Option<Exit>>,
    protocol: Protocol,
    stdin: Option<Input>,
    stdout: Option<Output>,
    stderr: Option<Output>,
    /// Set if the process has a terminal.
    sizes: Option<mpsc::Sender<Frame>>,
}

impl Process {
    pub(super) async fn start(request: Request, options: &ExecOptions) -> Result<Self, StreamError> {
        let websocket = open(request, &options.protocols).await?;
        let (protocol, result) = (websocket.protocol, Arc::new(StreamResult::new(&websocket.request)));
        let mut outgoing = Outgoing::new();
        let sizes = options.tty.then(|| outgoing.queue());
        let stdin = options.stdin.then(|| {
            let (ours, theirs) = duplex(PIPE_BYTES);
            outgoing.pipe(STDIN, theirs, protocol.can_close());
            Input { pipe: ours, can_close: protocol.can_close() }
        });
        let output = |is_wanted: bool| is_wanted.then(|| Output::new(result.clone())).unzip();
        let ((stdout, to_stdout), (stderr, to_stderr)) =
            (output(options.stdout), output(options.has_stderr()));
        let receiver = Streams { stdout: to_stdout, stderr: to_stderr, status: Vec::new(), exit: None };
        let session = Session::start(websocket, result, receiver, outgoing);
        Ok(Self { session, protocol, stdin, stdout, stderr, sizes })
    }

    /// Returns the protocol that the server chose.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Takes the standard input, if it was requested.
    pub fn stdin(&mut self) -> Option<Input> {
        self.stdin.take()
    }

    /// Takes the standard output, if it was requested.
    pub fn stdout(&mut self) -> Option<Output> {
        self.stdout.take()
    }

    /// Takes the standard error output, if it was requested and there is no terminal.
    pub fn stderr(&mut self) -> Option<Output> {
        self.stderr.take()
    }

    /// Sets the size of the terminal. If the future is dropped, the size may not have been sent.
    ///
    /// # Errors
    /// If the process has no terminal, or the stream has ended.
    pub async fn resize(&self, size: TerminalSize) -> Result<(), StreamError> {
        let result = self.session.result();
        let Some(sizes) = &self.sizes else {
            return Err(StreamError::NoTerminal { request: result.request().to_owned() });
        };
        let text = serde_json::to_vec(&size).unwrap_or_default(); // cannot fail: two numbers
        let sent = sizes.send(Frame::Data(RESIZE, text.into())).await;
        sent.map_err(|_| result.end().err().unwrap_or_else(|| result.cancelled()))
    }

    /// Waits for the process to exit. Streams that were not taken are dropped: stdin is closed, and outputs are
    /// discarded. Dropping the future closes all streams.
    ///
    /// # Errors
    /// If the stream breaks, or ends without an exit status (`streams.W2`).
    pub async fn wait(mut self) -> Result<Exit, StreamError> {
        (self.stdin, self.stdout, self.stderr) = (None, None, None);
        let exit = self.session.wait().await?;
        exit.ok_or_else(|| StreamError::NoStatus { request: self.session.result().request().to_owned() })
    }
}

/// The standard input of a process.
///
/// Shutting it down or dropping it closes the process's stdin after the written bytes. [`Protocol::V4`] cannot do so: a
/// shutdown is an error, and the process waits for more input until the whole [`Process`] is dropped.
#[derive(Debug)]
pub struct Input {
    pipe: DuplexStream,
    can_close: bool,
}

impl AsyncWrite for Input {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.can_close {
            let why = "protocol v4.channel.k8s.io cannot close stdin";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::Unsupported, why)));
        }
        Pin::new(&mut self.pipe).poll_shutdown(context)
    }
}

/// The receiver of the streams of a process.
struct Streams {
    stdout: Option<OutputWriter>,
    stderr: Option<OutputWriter>,
    /// The exit status received so far.
    status: Vec<u8>,
    exit: Option<Exit>,
}

impl Receiver for Streams {
    type Outcome = Option<Exit>;

    async fn receive(&mut self, frame: Frame) -> Result<(), String> {
        let output = match frame {
            Frame::Data(STDOUT, _) | Frame::Close(STDOUT) => &mut self.stdout,
            Frame::Data(STDERR, _) | Frame::Close(STDERR) => &mut self.stderr,
            Frame::Data(ERROR, bytes) => return self.receive_status(&bytes),
            Frame::Data(..) | Frame::Close(_) => return Ok(()), // unknown channels are ignored, as in client-go
        };
        match (output, frame) {
            (Some(output), Frame::Data(_, bytes)) => output.write(&bytes).await,
            (Some(output), Frame::Close(_)) => output.close(),
            (None, _) => {}
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.exit.is_some()
    }

    fn outcome(self) -> Option<Exit> {
        self.exit
    }
}

impl Streams {
    /// Receives the exit status, which may come in pieces.
    fn receive_status(&mut self, bytes: &Bytes) -> Result<(), String> {
        if self.exit.is_some() || bytes.is_empty() {
            return Ok(());
        }
        self.status.extend_from_slice(bytes);
        match serde_json::from_slice::<Status>(&self.status) {
            Ok(status) => self.exit = Some(exit(status)?),
            Err(error) if error.is_eof() && self.status.len() <= MAX_STATUS_BYTES => {}
            Err(error) => return Err(format!("invalid exit status: {error}")),
        }
        Ok(())
    }
}

/// Returns the exit that a Status stands for.
fn exit(status: Status) -> Result<Exit, String> {
    match status.outcome {
        Some(Outcome::Success) => return Ok(Exit::Success),
        Some(Outcome::Failure) => {}
        None => return Err("exit status is neither Success nor Failure".to_owned()),
    }
    if status.reason != StatusReason::Other("NonZeroExitCode".into()) {
        return Ok(Exit::Failed(Box::new(status)));
    }
    let is_code = |cause: &CauseType| *cause == CauseType::Other("ExitCode".into());
    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    let code = causes.iter().find(|cause| is_code(&cause.cause));
    let code = code.ok_or("exit status has no exit code")?;
    let number = code.message.parse().map_err(|_| format!("invalid exit code {:?}", code.message))?;
    Ok(Exit::Code(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(pieces: &[&str]) -> Result<Option<Exit>, String> {
        let mut streams = Streams { stdout: None, stderr: None, status: Vec::new(), exit: None };
        for piece in pieces {
            streams.receive_status(&Bytes::copy_from_slice(piece.as_bytes()))?;
        }
        Ok(streams.exit)
    }

    #[test]
    fn the_exit_is_read_from_a_status() {
        assert_eq!(receive(&["", r#"{"metadata":{},"#, r#""status":"Success"}"#]), Ok(Some(Exit::Success)));
        let code = r#"{"status":"Failure","reason":"NonZeroExitCode","message":"m",
            "details":{"causes":[{"reason":"x","message":"9"},{"reason":"ExitCode","message":"3"}]}}"#;
        assert_eq!(receive(&[code]), Ok(Some(Exit::Code(3))));
        let other = r#"{"status":"Failure","reason":"InternalError","message":"no such program","code":500}"#;
        let Ok(Some(Exit::Failed(status))) = receive(&[other]) else { panic!("expected a failure") };
        assert_eq!(status.message, "no such program");
    }

    #[test]
    fn an_invalid_status_is_an_error() {
        assert_eq!(receive(&[r#"{"status":"Fail"#]), Ok(None));
        for invalid in [
            "not json",
            r#"{"metadata":{}}"#,
            r#"{"status":"Failure","reason":"NonZeroExitCode"}"#,
            r#"{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"x"}]}}"#,
        ] {
            assert!(receive(&[invalid]).is_err(), "{invalid}");
        }
    }
}
