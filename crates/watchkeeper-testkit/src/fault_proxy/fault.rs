//! Network faults, and when they happen.

use std::time::Duration;

/// A network fault of a connection: at once, or after a number of response bytes, counted on the wire (with TLS, its
/// records).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "has no effect until it is passed to a proxy"]
pub struct NetworkFault {
    pub(super) kind: Kind,
    pub(super) after: u64,
    pub(super) times: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Reset,
    Cut,
    Stall(Direction),
    Trickle { bytes: usize, every: Duration },
}

/// Direction of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Requests,
    /// From the server to the client.
    Responses,
    /// Both.
    Both,
}

impl Direction {
    pub(super) fn has_requests(self) -> bool {
        self != Self::Responses
    }

    pub(super) fn has_responses(self) -> bool {
        self != Self::Requests
    }
}

impl NetworkFault {
    /// Resets the connection on both sides (RST).
    pub fn reset() -> Self {
        Self::of(Kind::Reset)
    }

    /// Closes the connection on both sides (FIN), as a stopping server does.
    pub fn cut() -> Self {
        Self::of(Kind::Cut)
    }

    /// Forwards nothing more, not even the end of the other side, and keeps the connection open, as if the other end
    /// had lost power.
    pub fn stall(direction: Direction) -> Self {
        Self::of(Kind::Stall(direction))
    }

    /// Forwards the response in chunks of `bytes`, one per interval of tokio's clock.
    pub fn trickle(bytes: usize, every: Duration) -> Self {
        Self::of(Kind::Trickle { bytes: bytes.max(1), every })
    }

    /// Delays the fault until this many bytes were forwarded to the client: from the beginning of a new connection,
    /// from now on of an open one.
    pub fn after(mut self, response_bytes: u64) -> Self {
        self.after = response_bytes;
        self
    }

    /// Limits the fault to this many new connections; unlimited by default. Open connections ignore it.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    fn of(kind: Kind) -> Self {
        Self { kind, after: 0, times: None }
    }
}
