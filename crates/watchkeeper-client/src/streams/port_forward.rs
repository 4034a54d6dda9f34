//! Port forward: connections to ports of a pod.
//!
//! Each port has two channels: one for what goes to and fro, and one on which the server says what went
//! wrong. The first thing on either is the number of the port.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf, WriteHalf, duplex, split};

use super::output::Fate;
use super::session::{Outgoing, Receiver, Session, give};
use super::websocket::{Protocol, open};
use super::{Frame, PIPE_BYTES, StreamError};
use crate::rest::Request;

/// Bytes that are kept of what went wrong.
const FAULT_BYTES: usize = 4 << 10;

/// Connections to ports of a pod. Dropping it closes them all (W3).
///
/// The protocol is `v4.channel.k8s.io`, which every server speaks. It cannot say that one side of one
/// connection has ended: the pod learns that only when the whole forward is dropped, and a [`Port`] ends
/// when all have, or with an error of its own.
#[derive(Debug)]
pub struct PortForward {
    session: Session<()>,
    ports: Vec<Port>,
}

impl PortForward {
    pub(super) async fn begin(request: Request, ports: &[u16]) -> Result<Self, StreamError> {
        let websocket = open(request, &[Protocol::V4]).await?;
        let fate = Arc::new(Fate::new(&websocket.request));
        let mut outgoing = Outgoing::new();
        let (mut taken, mut lines) = (Vec::new(), Vec::new());
        for (number, channel) in ports.iter().copied().zip((0u8..).step_by(2)) {
            let (ours, theirs) = duplex(PIPE_BYTES);
            let (reader, writer) = split(theirs);
            outgoing.pipe(channel, reader, false);
            let fault = Arc::new(OnceLock::new());
            lines.push(Line { number, to_reader: Some(writer), fault: fault.clone(), announced: [0; 2] });
            taken.push(Port { number, pipe: ours, fault, fate: fate.clone() });
        }
        let session = Session::start(websocket, fate, Lines { lines }, outgoing);
        Ok(Self { session, ports: taken })
    }

    /// The connection to a port, once. Where a port was asked for twice, there are two.
    pub fn port(&mut self, number: u16) -> Option<Port> {
        let position = self.ports.iter().position(|port| port.number == number)?;
        Some(self.ports.remove(position))
    }

    /// Waits until the server has closed all connections. Those that nobody has taken are not read any more.
    /// Dropped half-way, they are closed.
    ///
    /// # Errors
    /// If the stream breaks.
    pub async fn wait(mut self) -> Result<(), StreamError> {
        self.ports.clear();
        self.session.wait().await
    }
}

/// A connection to a port. It ends with an error where nobody listens there, or the stream broke.
#[derive(Debug)]
pub struct Port {
    number: u16,
    pipe: DuplexStream,
    fault: Arc<OnceLock<String>>,
    fate: Arc<Fate>,
}

impl Port {
    /// Which one.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// What went wrong, in the server's words.
    pub fn fault(&self) -> Option<&str> {
        self.fault.get().map(String::as_str)
    }

    fn check(&self) -> io::Result<()> {
        self.fault().map_or(Ok(()), |text| Err(io::Error::other(text.to_owned())))
    }
}

impl AsyncRead for Port {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.pipe).poll_read(context, buffer))?;
        let is_end = buffer.filled().len() == before && buffer.remaining() > 0;
        if is_end {
            self.check()?;
            self.fate.end().map_err(StreamError::into_io)?;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Port {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.pipe).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(context)
    }

    /// Nothing more can be written; the pod is not told (see [`PortForward`]).
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(context)
    }
}

/// What comes of all ports.
struct Lines {
    lines: Vec<Line>,
}

struct Line {
    number: u16,
    to_reader: Option<WriteHalf<DuplexStream>>,
    fault: Arc<OnceLock<String>>,
    /// How many bytes of the port's number have come, on either channel.
    announced: [usize; 2],
}

impl Line {
    /// What is left of a message without the number of the port that the first has.
    fn after_number(&mut self, side: usize, bytes: &Bytes) -> Result<Bytes, String> {
        let number = self.number.to_le_bytes();
        let known = self.announced[side];
        let said = (number.len() - known).min(bytes.len());
        if bytes[..said] != number[known..known + said] {
            return Err(format!("the server has opened another port than {}", self.number));
        }
        self.announced[side] += said;
        Ok(bytes.slice(said..))
    }
}

impl Receiver for Lines {
    type Outcome = ();

    async fn take(&mut self, frame: Frame) -> Result<(), String> {
        let Frame::Data(channel, bytes) = frame else { return Ok(()) };
        let (line, side) = (usize::from(channel / 2), usize::from(channel % 2));
        let Some(line) = self.lines.get_mut(line) else { return Ok(()) }; // as client-go
        let bytes = line.after_number(side, &bytes)?;
        match side {
            _ if bytes.is_empty() => {}
            0 => give(&mut line.to_reader, &bytes).await,
            _ => {
                let text = String::from_utf8_lossy(&bytes[..bytes.len().min(FAULT_BYTES)]);
                let _ = line.fault.set(text.into_owned()); // the first counts
                if let Some(mut writer) = line.to_reader.take() {
                    let _ = writer.shutdown().await; // in memory
                }
            }
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        false
    }

    fn outcome(self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_port_comes_first_in_pieces_if_need_be() {
        let line = || Line { number: 8080, to_reader: None, fault: Arc::default(), announced: [0; 2] };
        let mut whole = line();
        assert_eq!(whole.after_number(0, &Bytes::from_static(b"\x90\x1fdata")), Ok("data".into()));
        assert_eq!(
            whole.after_number(0, &Bytes::from_static(b"\x90\x1f")),
            Ok(Bytes::from_static(b"\x90\x1f"))
        );
        assert_eq!(whole.after_number(1, &Bytes::from_static(b"\x90")), Ok(Bytes::new()));
        assert_eq!(whole.after_number(1, &Bytes::from_static(b"\x1fwrong")), Ok("wrong".into()));
        assert!(line().after_number(0, &Bytes::from_static(b"\x90\x20")).is_err());
    }
}
