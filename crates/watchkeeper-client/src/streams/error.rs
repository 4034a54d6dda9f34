//! Why a stream has failed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio_tungstenite::tungstenite;

use crate::rest::RequestError;

/// Why there is no stream, or why it has ended. Clones are the same error, told to several.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The server has refused, or has not answered: nothing has begun.
    #[error(transparent)]
    Request(Arc<RequestError>),
    /// What answered is no WebSocket, or speaks nothing that was offered.
    #[error("{request}: {why}")]
    Handshake {
        /// Method and path.
        request: String,
        /// What is wrong.
        why: String,
    },
    /// The connection was lost. What was running may be running still.
    #[error("{request}: the connection was lost")]
    Lost {
        /// Method and path.
        request: String,
        /// How; `None` where it was just closed.
        source: Option<Arc<tungstenite::Error>>,
    },
    /// Nothing has come for so long that nobody can be there any more.
    #[error("{request}: nothing came within {} s", .after.as_secs())]
    Silent {
        /// Method and path.
        request: String,
        /// For how long.
        after: Duration,
    },
    /// The server has said what makes no sense, or too much of it.
    #[error("{request}: {why}")]
    Protocol {
        /// Method and path.
        request: String,
        /// What.
        why: String,
    },
    /// The server has ended the stream, and not said what became of the program.
    #[error("{request}: it has ended, and nobody said how")]
    NoStatus {
        /// Method and path.
        request: String,
    },
    /// It has no terminal, so that there is none to resize.
    #[error("{request}: it has no terminal")]
    NoTerminal {
        /// Method and path.
        request: String,
    },
    /// It was dropped on this side.
    #[error("{request}: it was cut off")]
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
    /// What the server said, where it refused.
    pub fn status(&self) -> Option<&watchkeeper_core::Status> {
        match self {
            Self::Request(error) => error.status(),
            _ => None,
        }
    }

    /// The error for whoever reads or writes.
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
