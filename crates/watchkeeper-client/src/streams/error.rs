//! Stream errors.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio_tungstenite::tungstenite;

use crate::rest::RequestError;

/// An error opening a stream, or the reason why it ended. Clones share the cause.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The request failed: nothing was started.
    #[error(transparent)]
    Request(Arc<RequestError>),
    /// The WebSocket handshake failed.
    #[error("{request}: {why}")]
    Handshake {
        /// Method and path.
        request: String,
        /// The reason.
        why: String,
    },
    /// The connection was lost. The remote process may still be running.
    #[error("{request}: connection lost")]
    Lost {
        /// Method and path.
        request: String,
        /// The cause; `None` if the connection was closed without an error.
        source: Option<Arc<tungstenite::Error>>,
    },
    /// The server has not sent anything for too long.
    #[error("{request}: no data received for {}s", .after.as_secs())]
    Silent {
        /// Method and path.
        request: String,
        /// The timeout.
        after: Duration,
    },
    /// The server sent an invalid or oversized message.
    #[error("{request}: {why}")]
    Protocol {
        /// Method and path.
        request: String,
        /// The reason.
        why: String,
    },
    /// The server closed the stream without the exit status of the process.
    #[error("{request}: stream ended without an exit status")]
    NoStatus {
        /// Method and path.
        request: String,
    },
    /// The process has no terminal to resize.
    #[error("{request}: process has no terminal")]
    NoTerminal {
        /// Method and path.
        request: String,
    },
    /// The stream was dropped on this side.
    #[error("{request}: stream was cancelled")]
    Cancelled {
        /// Method and path.
        request: String,
    },
}

impl From<RequestError> for StreamError {
    fn from(error: RequestError) -> Self {
        Self::Request(Arc::new(error))
    }
}

impl StreamError {
    /// Returns the server's Status, if it returned an error.
    pub fn status(&self) -> Option<&watchkeeper_core::Status> {
        match self {
            Self::Request(error) => error.status(),
            _ => None,
        }
    }

    /// Converts to an I/O error for readers and writers.
    pub(super) fn into_io(self) -> io::Error {
        let kind = match &self {
            Self::Lost { .. } => io::ErrorKind::ConnectionReset,
            Self::Silent { .. } => io::ErrorKind::TimedOut,
            Self::Cancelled { .. } => io::ErrorKind::ConnectionAborted,
            Self::Protocol { .. } => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, self)
    }
}
