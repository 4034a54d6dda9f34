//! Session: one WebSocket and the task that drives it.
//!
//! Reading and writing do not wait for each other: a program that answers while it is written to would
//! stand still otherwise. Channels do wait for each other (W1): they come one after another.

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

use super::output::Fate;
use super::websocket::WebSocket;
use super::{Frame, StreamError};
use crate::transport::Upgraded;

/// Bytes that are kept of each channel in each direction.
pub const PIPE_BYTES: usize = 64 << 10;

/// How often the server is asked whether it is still there.
pub const PING_EVERY: Duration = Duration::from_secs(5);

/// After how long it is taken for dead if nothing comes, while somebody waits for it. A program that does
/// not read its input keeps servers from answering, too, once all buffers on the way are full.
pub const SILENT_AFTER: Duration = Duration::from_secs(61);

/// How long a server may take to close a stream after it has said all.
const CLOSING: Duration = Duration::from_secs(10);

/// Bytes of one message that is sent.
const CHUNK_BYTES: usize = 32 << 10;

/// Messages that wait to be sent.
const QUEUED: usize = 2;

/// Whoever takes what the server sends.
pub(super) trait Receiver: Send + 'static {
    /// What has become of it in the end.
    type Outcome: Send + 'static;

    /// Takes a frame, and waits until there is room for it. An error says what makes no sense.
    fn take(&mut self, frame: Frame) -> impl Future<Output = Result<(), String>> + Send;

    /// Whether the server has said all that matters.
    fn is_done(&self) -> bool;

    /// What has become of it. The stream has ended cleanly.
    fn outcome(self) -> Self::Outcome;
}

/// What is to be sent.
pub(super) struct Outgoing {
    queue: mpsc::Sender<Frame>,
    queued: mpsc::Receiver<Frame>,
    pumps: Vec<BoxFuture<'static, ()>>,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        let (queue, queued) = mpsc::channel(QUEUED);
        Self { queue, queued, pumps: Vec::new() }
    }

    /// For single frames. It waits while [`QUEUED`] are to be sent.
    pub(super) fn queue(&self) -> mpsc::Sender<Frame> {
        self.queue.clone()
    }

    /// Sends what is read from a pipe, and, where that can be said, that it has ended.
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

/// A session that runs for as long as this is kept (W3).
#[derive(Debug)]
pub(super) struct Session<T> {
    task: JoinHandle<Result<T, StreamError>>,
    fate: Arc<Fate>,
}

impl<T: Send + 'static> Session<T> {
    pub(super) fn start<R>(websocket: WebSocket, fate: Arc<Fate>, mut receiver: R, outgoing: Outgoing) -> Self
    where
        R: Receiver<Outcome = T>,
    {
        let known = fate.clone();
        let task = tokio::spawn(async move {
            let ended = run(websocket, &mut receiver, outgoing).await;
            known.decide(ended.clone()); // before the pipes of the receiver end
            ended.map(|()| receiver.outcome())
        });
        Self { task, fate }
    }

    /// Why nothing can be sent any more.
    pub(super) fn fate(&self) -> &Fate {
        &self.fate
    }

    /// Waits until it has ended, once.
    pub(super) async fn wait(&mut self) -> Result<T, StreamError> {
        match (&mut self.task).await {
            Ok(outcome) => outcome,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(self.fate.cancelled()),
            },
        }
    }
}

impl<T> Drop for Session<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs until the server has ended it, or until it breaks. What cannot be sent is no reason to end: what
/// comes says why.
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
        ended = receive(stream, receiver, protocol.can_close()) => ended.map_err(|ending| ending.error(request)),
        () = sending => Ok(()), // never
    }
}

/// Sends frames and pings until it cannot.
async fn send(mut sink: SplitSink<WebSocketStream<Upgraded>, Message>, mut queued: mpsc::Receiver<Frame>) {
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
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

/// How a session ends that does not end well.
enum Ending {
    Lost(Option<tungstenite::Error>),
    Silent,
    Senseless(String),
}

impl Ending {
    fn error(self, request: String) -> StreamError {
        match self {
            Self::Lost(source) => StreamError::Lost { request, source: source.map(Arc::new) },
            Self::Silent => StreamError::Silent { request, after: SILENT_AFTER },
            Self::Senseless(why) => StreamError::Protocol { request, why },
        }
    }
}

async fn receive<R: Receiver>(
    mut stream: SplitStream<WebSocketStream<Upgraded>>,
    receiver: &mut R,
    can_close: bool,
) -> Result<(), Ending> {
    let mut closing: Option<Instant> = None;
    loop {
        if receiver.is_done() {
            closing = closing.or(Some(Instant::now() + CLOSING));
        }
        // The time runs only while somebody waits for the server, not while it waits for the reader.
        let next = timeout_at(closing.unwrap_or_else(|| Instant::now() + SILENT_AFTER), stream.next());
        let message = match next.await {
            _ if closing.is_some_and(|at| Instant::now() >= at) => return Ok(()),
            Ok(Some(Ok(message))) => message,
            Ok(None | Some(Err(_))) if closing.is_some() => return Ok(()),
            Ok(None) => return Err(Ending::Lost(None)),
            Ok(Some(Err(error))) if is_senseless(&error) => return Err(Ending::Senseless(error.to_string())),
            Ok(Some(Err(error))) => return Err(Ending::Lost(Some(error))),
            Err(_) => return Err(Ending::Silent),
        };
        match message {
            Message::Binary(bytes) => {
                let frame = Frame::decode(&bytes, can_close);
                let frame = frame.map_err(|why| Ending::Senseless(why.to_owned()))?;
                receiver.take(frame).await.map_err(Ending::Senseless)?;
            }
            Message::Text(_) => return Err(Ending::Senseless("a message is text".to_owned())),
            Message::Close(Some(close)) if close.code == CloseCode::Normal => return Ok(()),
            Message::Close(_) if closing.is_some() => return Ok(()),
            Message::Close(None) => return Err(Ending::Lost(None)),
            Message::Close(Some(close)) => {
                let why =
                    format!("the server has closed it with code {}: {:?}", close.code, close.reason.as_str());
                return Err(Ending::Senseless(why));
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
}

/// Whether what came is at fault, and not the connection.
fn is_senseless(error: &tungstenite::Error) -> bool {
    use tungstenite::Error;
    let is_reset =
        matches!(error, Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake));
    matches!(error, Error::Protocol(_) | Error::Capacity(_) | Error::Utf8(_)) && !is_reset
}

/// Gives bytes to whoever reads them; a reader that is gone misses them.
pub(super) async fn give<W: AsyncWrite + Unpin>(pipe: &mut Option<W>, bytes: &[u8]) {
    if let Some(open) = pipe
        && open.write_all(bytes).await.is_err()
    {
        *pipe = None;
    }
}
