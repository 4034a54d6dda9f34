//! Trouble: what happens to a connection, and when.

use std::time::Duration;

/// What happens to a connection: at once, or after so many bytes of the answer.
///
/// Bytes are those of the wire: of TLS where TLS is spoken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "it happens once a proxy is told of it"]
pub struct Trouble {
    pub(super) kind: Kind,
    pub(super) after: u64,
    pub(super) times: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Reset,
    Cut,
    Stall(Way),
    Trickle { bytes: usize, every: Duration },
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Requests,
    /// From the server to the client.
    Answers,
    /// Both.
    Both,
}

impl Way {
    pub(super) fn has_requests(self) -> bool {
        self != Self::Answers
    }

    pub(super) fn has_answers(self) -> bool {
        self != Self::Requests
    }
}

impl Trouble {
    /// Both sides are told that the connection is gone (RST).
    pub fn reset() -> Self {
        Self::of(Kind::Reset)
    }

    /// Both sides are told that nothing more comes (FIN), as by a server that ends.
    pub fn cut() -> Self {
        Self::of(Kind::Cut)
    }

    /// Nothing more is delivered, and nobody is told: not even that the other side has ended. The
    /// connection stays open, as one does whose other end has lost its power.
    pub fn stall(way: Way) -> Self {
        Self::of(Kind::Stall(way))
    }

    /// Of the answer, so many bytes at a time are delivered, and between two times it is waited so long, by
    /// tokio's clock.
    pub fn trickle(bytes: usize, every: Duration) -> Self {
        Self::of(Kind::Trickle { bytes: bytes.max(1), every })
    }

    /// Only once so many bytes have gone to the client: from the beginning of a connection to come, from
    /// now on of one that is open.
    pub fn after(mut self, answer_bytes: u64) -> Self {
        self.after = answer_bytes;
        self
    }

    /// To so many connections to come, and no more; without this, to every one. It says nothing to those
    /// that are open.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    fn of(kind: Kind) -> Self {
        Self { kind, after: 0, times: None }
    }
}
