//! Port forwarding: connections to ports of a pod.
//!
//! Each port has two channels: one for data and one for errors. The first bytes on either are the port number.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf, WriteHalf, duplex, split};

use super::output::{StreamResult, poll_read};
use super::session::{Outgoing, Receiver, Session, write_to_reader};
use super::websocket::{Protocol, open};
use super::{Frame, PIPE_BYTES, StreamError};
use crate::rest::Request;

/// Maximum length of an error message that is kept, in bytes.
const MAX_ERROR_BYTES: usize = 4 << 10;

/// Connections to ports of a pod. Dropping it closes them all (`streams.W3`).
///
/// The protocol is `v4.channel.k8s.io`, which every server supports. It has no half-close: the pod sees the end of a
/// connection only when the whole forward is dropped, and a [`Port`] ends when all do, or with its own error.
#[derive(Debug)]
pub struct PortForward {
    session: Session<()>,
    ports: Vec<Port>,
}

impl PortForward {
    pub(super) async fn start(request: Request, ports: &[u16]) -> Result<Self, StreamError> {
        let websocket = open(request, &[Protocol::V4]).await?;
        let result = Arc::new(StreamResult::new(&websocket.request));
        let mut outgoing = Outgoing::new();
        let (mut handles, mut connections) = (Vec::new(), Vec::new());
        for (number, channel) in ports.iter().copied().zip((0u8..).step_by(2)) {
            let (ours, theirs) = duplex(PIPE_BYTES);
            let (reader, writer) = split(theirs);
            outgoing.pipe(channel, reader, false);
            let error = Arc::new(OnceLock::new());
            let writer = Some(writer);
            connections.push(Connection { number, writer, error: error.clone(), header_bytes: [0; 2] });
            handles.push(Port { number, pipe: ours, error, result: result.clone() });
        }
        let session = Session::start(websocket, result, Connections { connections }, outgoing);
        Ok(Self { session, ports: handles })
    }

    /// Takes the connection to a port. A port that was requested twice has two.
    pub fn port(&mut self, number: u16) -> Option<Port> {
        let position = self.ports.iter().position(|port| port.number == number)?;
        Some(self.ports.remove(position))
    }

    /// Waits until the server has closed all connections. Connections that were not taken are discarded. Dropping the
    /// future closes all connections.
    ///
    /// # Errors
    /// If the stream breaks.
    pub async fn wait(mut self) -> Result<(), StreamError> {
        self.ports.clear();
        self.session.wait().await
    }
}

/// A connection to a port. Ends with an error if nothing listens on the port, or the stream breaks.
#[derive(Debug)]
pub struct Port {
    number: u16,
    pipe: DuplexStream,
    error: Arc<OnceLock<String>>,
    result: Arc<StreamResult>,
}

impl Port {
    /// Returns the port number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Returns the server's error message, if there is one.
    pub fn error(&self) -> Option<&str> {
        self.error.get().map(String::as_str)
    }

    fn check(&self) -> io::Result<()> {
        self.error().map_or(Ok(()), |text| Err(io::Error::other(text.to_owned())))
    }
}

impl AsyncRead for Port {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if ready!(poll_read(&mut self.pipe, context, buffer))? {
            self.check()?;
            self.result.end().map_err(StreamError::into_io)?;
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

    /// Ends writing on this side; the pod is not notified (see [`PortForward`]).
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(context)
    }
}

/// The receiver of the data of all ports.
struct Connections {
    connections: Vec<Connection>,
}

struct Connection {
    number: u16,
    writer: Option<WriteHalf<DuplexStream>>,
    error: Arc<OnceLock<String>>,
    /// Number of bytes of the port number received, on the data and the error channel.
    header_bytes: [usize; 2],
}

impl Connection {
    /// Strips the port number from the start of a channel.
    fn strip_port(&mut self, side: usize, bytes: &Bytes) -> Result<Bytes, String> {
        let number = self.number.to_le_bytes();
        let known = self.header_bytes[side];
        let length = (number.len() - known).min(bytes.len());
        if bytes[..length] != number[known..known + length] {
            return Err(format!("server opened a port other than {}", self.number));
        }
        self.header_bytes[side] += length;
        Ok(bytes.slice(length..))
    }
}

impl Receiver for Connections {
    type Outcome = ();

    async fn receive(&mut self, frame: Frame) -> Result<(), String> {
        let Frame::Data(channel, bytes) = frame else { return Ok(()) };
        let (index, side) = (usize::from(channel / 2), usize::from(channel % 2));
        let Some(connection) = self.connections.get_mut(index) else { return Ok(()) }; // as client-go
        let bytes = connection.strip_port(side, &bytes)?;
        match side {
            _ if bytes.is_empty() => {}
            0 => write_to_reader(&mut connection.writer, &bytes).await,
            _ => {
                let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_ERROR_BYTES)]);
                let _ = connection.error.set(text.into_owned()); // keeps the first error
                if let Some(mut writer) = connection.writer.take() {
                    let _ = writer.shutdown().await; // an in-memory pipe
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
    fn the_port_number_comes_first_and_may_be_split() {
        let connection =
            || Connection { number: 8080, writer: None, error: Arc::default(), header_bytes: [0; 2] };
        let mut whole = connection();
        assert_eq!(whole.strip_port(0, &Bytes::from_static(b"\x90\x1fdata")), Ok("data".into()));
        assert_eq!(
            whole.strip_port(0, &Bytes::from_static(b"\x90\x1f")),
            Ok(Bytes::from_static(b"\x90\x1f"))
        );
        assert_eq!(whole.strip_port(1, &Bytes::from_static(b"\x90")), Ok(Bytes::new()));
        assert_eq!(whole.strip_port(1, &Bytes::from_static(b"\x1fwrong")), Ok("wrong".into()));
        assert!(connection().strip_port(0, &Bytes::from_static(b"\x90\x20")).is_err());
    }
}
