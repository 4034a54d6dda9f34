//! Process: a program in a container, its input, its outputs and its end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use serde::Serialize;
use tokio::io::{AsyncWrite, DuplexStream, duplex};
use tokio::sync::mpsc;
use watchkeeper_core::{CauseType, Outcome, Status, StatusReason};

use super::output::{Fate, Feed};
use super::session::{Outgoing, Receiver, Session};
use super::websocket::{Protocol, open};
use super::{ExecOptions, Frame, Output, PIPE_BYTES, StreamError};
use crate::rest::Request;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;

/// Bytes of what a server says of a program's end.
const STATUS_BYTES: usize = 1 << 20;

/// How a program has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// With 0.
    Success,
    /// With another code.
    Code(i32),
    /// It did not run, or nobody knows its code.
    Failed(Box<Status>),
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TerminalSize {
    /// How many fit in a line.
    pub width: u16,
    /// How many lines there are.
    pub height: u16,
}

/// A program that runs in a container. Dropping it cuts off its streams (W3); whether the program ends then
/// is its own affair, and the runtime's.
#[derive(Debug)]
pub struct Process {
    session: Session<Option<Exit>>,
    protocol: Protocol,
    stdin: Option<Input>,
    stdout: Option<Output>,
    stderr: Option<Output>,
    /// There with a terminal.
    sizes: Option<mpsc::Sender<Frame>>,
}

impl Process {
    pub(super) async fn begin(request: Request, options: &ExecOptions) -> Result<Self, StreamError> {
        let websocket = open(request, &options.protocols).await?;
        let (protocol, fate) = (websocket.protocol, Arc::new(Fate::new(&websocket.request)));
        let mut outgoing = Outgoing::new();
        let sizes = options.tty.then(|| outgoing.queue());
        let stdin = options.stdin.then(|| {
            let (ours, theirs) = duplex(PIPE_BYTES);
            outgoing.pipe(STDIN, theirs, protocol.can_close());
            Input { pipe: ours, can_end: protocol.can_close() }
        });
        let output = |is_wanted: bool| is_wanted.then(|| Output::new(fate.clone())).unzip();
        let ((stdout, to_stdout), (stderr, to_stderr)) =
            (output(options.stdout), output(options.has_stderr()));
        let receiver = Streams { stdout: to_stdout, stderr: to_stderr, said: Vec::new(), exit: None };
        let session = Session::start(websocket, fate, receiver, outgoing);
        Ok(Self { session, protocol, stdin, stdout, stderr, sizes })
    }

    /// What the server has chosen of what was offered.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Its input, once, if one was asked for.
    pub fn stdin(&mut self) -> Option<Input> {
        self.stdin.take()
    }

    /// Its output, once, if that was asked for.
    pub fn stdout(&mut self) -> Option<Output> {
        self.stdout.take()
    }

    /// What it says of errors, once, if that was asked for and it has no terminal.
    pub fn stderr(&mut self) -> Option<Output> {
        self.stderr.take()
    }

    /// Tells it how large its terminal is. Dropped half-way, it may not have been told.
    ///
    /// # Errors
    /// If it has no terminal, or has ended.
    pub async fn resize(&self, size: TerminalSize) -> Result<(), StreamError> {
        let fate = self.session.fate();
        let Some(sizes) = &self.sizes else {
            return Err(StreamError::NoTerminal { request: fate.request().to_owned() });
        };
        let text = serde_json::to_vec(&size).unwrap_or_default(); // two numbers
        let sent = sizes.send(Frame::Data(RESIZE, text.into())).await;
        sent.map_err(|_| fate.end().err().unwrap_or_else(|| fate.cancelled()))
    }

    /// Waits until the program has ended. Streams that nobody has taken end here: there is no more input, and
    /// nobody reads the outputs. Dropped half-way, it is cut off.
    ///
    /// # Errors
    /// If the stream breaks, or ends without a word on the program (W2).
    pub async fn wait(mut self) -> Result<Exit, StreamError> {
        (self.stdin, self.stdout, self.stderr) = (None, None, None);
        let exit = self.session.wait().await?;
        exit.ok_or_else(|| StreamError::NoStatus { request: self.session.fate().request().to_owned() })
    }
}

/// The input of a program.
///
/// Shutting it down, or dropping it, is the end of the input: the program reads what was written, and then
/// the end. With [`Protocol::V4`] nobody can be told: a shutdown is an error, and the program waits for more
/// until the whole [`Process`] is dropped.
#[derive(Debug)]
pub struct Input {
    pipe: DuplexStream,
    can_end: bool,
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
        if !self.can_end {
            let why = "the server speaks v4.channel.k8s.io, which cannot say that an input has ended";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::Unsupported, why)));
        }
        Pin::new(&mut self.pipe).poll_shutdown(context)
    }
}

/// What comes of a program.
struct Streams {
    stdout: Option<Feed>,
    stderr: Option<Feed>,
    /// What was said of its end so far.
    said: Vec<u8>,
    exit: Option<Exit>,
}

impl Receiver for Streams {
    type Outcome = Option<Exit>;

    async fn take(&mut self, frame: Frame) -> Result<(), String> {
        let output = match frame {
            Frame::Data(STDOUT, _) | Frame::Close(STDOUT) => &mut self.stdout,
            Frame::Data(STDERR, _) | Frame::Close(STDERR) => &mut self.stderr,
            Frame::Data(ERROR, bytes) => return self.hear(&bytes),
            Frame::Data(..) | Frame::Close(_) => return Ok(()), // as client-go: nobody knows the channel
        };
        match (output, frame) {
            (Some(output), Frame::Data(_, bytes)) => output.give(&bytes).await,
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
    /// Hears of the end, which may come in pieces.
    fn hear(&mut self, bytes: &Bytes) -> Result<(), String> {
        if self.exit.is_some() || bytes.is_empty() {
            return Ok(());
        }
        self.said.extend_from_slice(bytes);
        match serde_json::from_slice::<Status>(&self.said) {
            Ok(status) => self.exit = Some(exit(status)?),
            Err(error) if error.is_eof() && self.said.len() <= STATUS_BYTES => {}
            Err(error) => return Err(format!("what is said of the end makes no sense: {error}")),
        }
        Ok(())
    }
}

/// What a status says of a program.
fn exit(status: Status) -> Result<Exit, String> {
    match status.outcome {
        Some(Outcome::Success) => return Ok(Exit::Success),
        Some(Outcome::Failure) => {}
        None => return Err("what is said of the end is neither success nor failure".to_owned()),
    }
    if status.reason != StatusReason::Other("NonZeroExitCode".into()) {
        return Ok(Exit::Failed(Box::new(status)));
    }
    let is_code = |cause: &CauseType| *cause == CauseType::Other("ExitCode".into());
    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    let code = causes.iter().find(|cause| is_code(&cause.cause));
    let code = code.ok_or("it ended with another code than 0, and nobody says which")?;
    let number = code.message.parse().map_err(|_| format!("{:?} is no exit code", code.message))?;
    Ok(Exit::Code(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&str]) -> Result<Option<Exit>, String> {
        let mut streams = Streams { stdout: None, stderr: None, said: Vec::new(), exit: None };
        for piece in pieces {
            streams.hear(&Bytes::copy_from_slice(piece.as_bytes()))?;
        }
        Ok(streams.exit)
    }

    #[test]
    fn a_status_says_how_a_program_has_ended() {
        assert_eq!(heard(&["", r#"{"metadata":{},"#, r#""status":"Success"}"#]), Ok(Some(Exit::Success)));
        let code = r#"{"status":"Failure","reason":"NonZeroExitCode","message":"m",
            "details":{"causes":[{"reason":"x","message":"9"},{"reason":"ExitCode","message":"3"}]}}"#;
        assert_eq!(heard(&[code]), Ok(Some(Exit::Code(3))));
        let other = r#"{"status":"Failure","reason":"InternalError","message":"no such program","code":500}"#;
        let Ok(Some(Exit::Failed(status))) = heard(&[other]) else { panic!("it failed") };
        assert_eq!(status.message, "no such program");
    }

    #[test]
    fn what_makes_no_sense_is_no_end() {
        assert_eq!(heard(&[r#"{"status":"Fail"#]), Ok(None));
        for senseless in [
            "not json",
            r#"{"metadata":{}}"#,
            r#"{"status":"Failure","reason":"NonZeroExitCode"}"#,
            r#"{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"x"}]}}"#,
        ] {
            assert!(heard(&[senseless]).is_err(), "{senseless}");
        }
    }
}
