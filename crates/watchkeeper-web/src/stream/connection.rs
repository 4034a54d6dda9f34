//! One connection of a client to its stream (`stream.S1`).
//!
//! The list of stale subscriptions is state of the connection, not part of the stream's history: it is sent after `hello`
//! and whenever it changes, without a number, and is not replayed.

use std::sync::Arc;

use std::time::Duration;

use bytes::Bytes;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::message::{self, hello};
use super::session::{Pulled, Session};
use super::{BATCH_DELAY, PING};
use crate::freshness::{self, Outage};

/// A connection. After it is dropped the client can reconnect.
#[derive(Debug)]
pub(super) struct Connection {
    session: Arc<Session>,
    number: u64,
    /// Number of the last message sent.
    cursor: u64,
    /// Sent first.
    hello: Option<Bytes>,
    /// When something was last sent, or the connection started.
    sent: Instant,
    /// Until when changes are batched.
    batching_until: Option<Instant>,
    freshness: freshness::Receiver,
    /// The status last sent.
    sent_status: Status,
    heartbeat: Heartbeat,
}

/// The stale parts of a client's content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) server: Option<Outage>,
    /// By subscription.
    pub(super) stale: Vec<(Arc<str>, Outage)>,
}

/// The heartbeat of a silent connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heartbeat {
    /// A comment every [`PING`], for proxies in between.
    Comment,
    /// An event, for a client that must detect a dead connection.
    Event(Duration),
}

impl Heartbeat {
    fn every(self) -> Duration {
        match self {
            Self::Comment => PING,
            Self::Event(every) => every,
        }
    }

    fn frame(self) -> Bytes {
        Bytes::from_static(match self {
            Self::Comment => message::PING,
            Self::Event(_) => message::PING_EVENT,
        })
    }
}

impl Connection {
    /// Creates a connection whose client has already received messages up to `cursor`.
    pub(super) fn new(session: Arc<Session>, cursor: u64, resumed: bool) -> Self {
        let hello = Some(hello(&session.id, cursor, resumed));
        Self {
            number: session.attach(),
            freshness: session.freshness(),
            session,
            cursor,
            hello,
            sent: Instant::now(),
            batching_until: None,
            sent_status: Status::default(),
            heartbeat: Heartbeat::Comment,
        }
    }

    pub(super) fn heartbeat(mut self, heartbeat: Heartbeat) -> Self {
        self.heartbeat = heartbeat;
        self
    }

    /// Waits for the next frame to send; `None` if the connection has ended.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        if let Some(hello) = self.hello.take() {
            return Some(hello);
        }
        yield_now().await; // lets the previous frame be sent, and other tasks run
        loop {
            if let Some(status) = self.status() {
                return Some(status);
            }
            match self.session.pull(self.number, &mut self.cursor) {
                Pulled::Frame(frame) => {
                    self.sent = Instant::now();
                    self.batching_until = Some(self.sent + BATCH_DELAY);
                    return Some(frame);
                }
                Pulled::Closed => return None,
                Pulled::Nothing => {}
            }
            tokio::select! {
                biased;
                () = self.session.ready.notified() => if let Some(until) = self.batching_until {
                    sleep_until(until).await;
                },
                Ok(()) = self.freshness.changed() => {}
                () = sleep_until(self.sent + self.heartbeat.every()) => {
                    self.sent = Instant::now();
                    return Some(self.heartbeat.frame());
                }
            }
        }
    }

    /// Encodes what is stale, if it differs from what was last sent.
    fn status(&mut self) -> Option<Bytes> {
        let freshness = self.freshness.borrow_and_update();
        if freshness.is_fresh() && self.sent_status == Status::default() {
            return None;
        }
        let stale = if freshness.stale.is_empty() { Vec::new() } else { self.session.stale(&freshness) };
        let status = Status { server: freshness.server.clone(), stale };
        drop(freshness);
        if status == self.sent_status {
            return None;
        }
        self.sent = Instant::now();
        self.sent_status = status;
        Some(message::status(&self.sent_status))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.session.detach(self.number);
    }
}
