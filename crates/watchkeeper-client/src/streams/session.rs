//! Session: a WebSocket and the task that drives it.
//!
//! Reading and writing are independent: a process that responds while it is written to would deadlock otherwise.
//! Channels are not independent (`streams.W1`): their messages come one after another.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use futures_core::future::BoxFuture;
use futures_util::future::join_all;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{self, Message};

use super::output::StreamResult;
use super::websocket::WebSocket;
use super::{Frame, StreamError};
use crate::transport::Upgraded;

/// Buffer size of each channel in each direction, in bytes.
pub const PIPE_BYTES: usize = 64 << 10;

/// Interval between pings.
pub const PING_INTERVAL: Duration = Duration::from_secs(5);

/// Time after which a silent server is considered dead. Counts only while we wait for the server. A process that does not
/// read its input also keeps servers from responding, once all buffers in between are full.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(61);

/// Time limit for the server to close the stream after its last message.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of a sent message, in bytes.
const CHUNK_BYTES: usize = 32 << 10;

/// Maximum number of messages waiting to be sent.
const MAX_QUEUED: usize = 2;

/// A receiver of what the server sends.
pub(super) trait Receiver: Send + 'static {
    /// The result.
    type Outcome: Send + 'static;

    /// Handles a frame, waiting until there is room for it. Returns an error if the frame is invalid.
    fn receive(&mut self, frame: Frame) -> impl Future<Output = Result<(), String>> + Send;

    /// Returns whether everything of interest has been received.
    fn is_done(&self) -> bool;

    /// Returns the result, after a clean end of the stream.
    fn outcome(self) -> Self::Outcome;
}

/// Data to send.
pub(super) struct Outgoing {
    queue: mpsc::Sender<Frame>,
    queued: mpsc::Receiver<Frame>,
    pumps: Vec<BoxFuture<'static, ()>>,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        let (queue, queued) = mpsc::channel(MAX_QUEUED);
        Self { queue, queued, pumps: Vec::new() }
    }

    /// Returns a sender for single frames. It waits while [`MAX_QUEUED`] frames are pending.
    pub(super) fn queue(&self) -> mpsc::Sender<Frame> {
        self.queue.clone()
    }

    /// Sends everything read from a pipe, and its end if the protocol supports half-close.
    pub(super) fn pipe(
        &mut self,
        channel: u8,
        mut pipe: impl AsyncRead + Unpin + Send + 'static,
        can_close: bool,
    ) {
        let queue = self.queue.clone();
        self.pumps.push(Box::pin(async move {
            loop {
                let mut bytes = BytesMut::with_capacity(CHUNK_BYTES);
                let frame = match pipe.read_buf(&mut bytes).await {
                    Ok(0) | Err(_) if can_close => Frame::Close(channel),
                    Ok(0) | Err(_) => return,
                    Ok(_) => Frame::Data(channel, bytes.freeze()),
                };
                let is_last = matches!(frame, Frame::Close(_));
                if queue.send(frame).await.is_err() || is_last {
                    return;
                }
            }
        }));
    }
}

/// A running session; dropping it aborts the task (`streams.W3`).
#[derive(Debug)]
pub(super) struct Session<T> {
    task: JoinHandle<Result<T, StreamError>>,
    result: Arc<StreamResult>,
}

impl<T: Send + 'static> Session<T> {
    pub(super) fn start<R>(
        websocket: WebSocket,
        result: Arc<StreamResult>,
        mut receiver: R,
        outgoing: Outgoing,
    ) -> Self
    where
        R: Receiver<Outcome = T>,
    {
        let shared = result.clone();
        let task = tokio::spawn(async move {
            let ended = run(websocket, &mut receiver, outgoing).await;
            shared.set(ended.clone()); // before the receiver's pipes end
            ended.map(|()| receiver.outcome())
        });
        Self { task, result }
    }

    /// Returns the stream's result.
    pub(super) fn result(&self) -> &StreamResult {
        &self.result
    }

    /// Waits for the end of the session. May be called once.
    pub(super) async fn wait(&mut self) -> Result<T, StreamError> {
        match (&mut self.task).await {
            Ok(outcome) => outcome,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(self.result.cancelled()),
            },
        }
    }
}

impl<T> Drop for Session<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs until the server ends the stream, or it breaks. A send error does not end it: the receiving side knows the cause.
async fn run<R: Receiver>(
    websocket: WebSocket,
    receiver: &mut R,
    outgoing: Outgoing,
) -> Result<(), StreamError> {
    let WebSocket { messages, protocol, request } = websocket;
    let (sink, stream) = messages.split();
    let Outgoing { queue, queued, pumps } = outgoing;
    drop(queue);
    let sending = async {
        futures_util::future::join(send(sink, queued), join_all(pumps)).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = receive(stream, receiver, protocol.can_close()) => ended.map_err(|failure| failure.error(request)),
        () = sending => Ok(()), // never completes
    }
}

/// Sends frames and pings until sending fails.
async fn send(mut sink: SplitSink<WebSocketStream<Upgraded>, Message>, mut queued: mpsc::Receiver<Frame>) {
    let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            _ = pings.tick() => Message::Ping(Default::default()),
            Some(frame) = queued.recv() => Message::Binary(frame.encode()),
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

/// The reason for an unclean end.
enum Failure {
    Lost(Option<tungstenite::Error>),
    Silent,
    Protocol(String),
}

impl Failure {
    fn error(self, request: String) -> StreamError {
        match self {
            Self::Lost(source) => StreamError::Lost { request, source: source.map(Arc::new) },
            Self::Silent => StreamError::Silent { request, after: SILENCE_TIMEOUT },
            Self::Protocol(why) => StreamError::Protocol { request, why },
        }
    }
}

async fn receive<R: Receiver>(
    mut stream: SplitStream<WebSocketStream<Upgraded>>,
    receiver: &mut R,
    can_close: bool,
) -> Result<(), Failure> {
    let mut closing: Option<Instant> = None;
    loop {
        if receiver.is_done() {
            closing = closing.or(Some(Instant::now() + CLOSE_TIMEOUT));
        }
        // The timeout runs only while we wait for the server, not while it waits for a reader.
        let next = timeout_at(closing.unwrap_or_else(|| Instant::now() + SILENCE_TIMEOUT), stream.next());
        let message = match next.await {
            _ if closing.is_some_and(|at| Instant::now() >= at) => return Ok(()),
            Ok(Some(Ok(message))) => message,
            Ok(None | Some(Err(_))) if closing.is_some() => return Ok(()),
            Ok(None) => return Err(Failure::Lost(None)),
            Ok(Some(Err(error))) if is_protocol_error(&error) => {
                return Err(Failure::Protocol(error.to_string()));
            }
            Ok(Some(Err(error))) => return Err(Failure::Lost(Some(error))),
            Err(_) => return Err(Failure::Silent),
        };
        match message {
            Message::Binary(bytes) => {
                let frame = Frame::decode(&bytes, can_close);
                let frame = frame.map_err(|why| Failure::Protocol(why.to_owned()))?;
                receiver.receive(frame).await.map_err(Failure::Protocol)?;
            }
            Message::Text(_) => return Err(Failure::Protocol("unexpected text message".to_owned())),
            Message::Close(Some(close)) if close.code == CloseCode::Normal => return Ok(()),
            Message::Close(_) if closing.is_some() => return Ok(()),
            Message::Close(None) => return Err(Failure::Lost(None)),
            Message::Close(Some(close)) => {
                let why =
                    format!("server closed the stream with code {}: {:?}", close.code, close.reason.as_str());
                return Err(Failure::Protocol(why));
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
}

/// Returns whether the data is at fault, not the connection.
fn is_protocol_error(error: &tungstenite::Error) -> bool {
    use tungstenite::Error;
    let is_reset =
        matches!(error, Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake));
    matches!(error, Error::Protocol(_) | Error::Capacity(_) | Error::Utf8(_)) && !is_reset
}

/// Writes bytes to a reader's pipe; drops them if the reader is gone.
pub(super) async fn write_to_reader<W: AsyncWrite + Unpin>(pipe: &mut Option<W>, bytes: &[u8]) {
    if let Some(open) = pipe
        && open.write_all(bytes).await.is_err()
    {
        *pipe = None;
    }
}
