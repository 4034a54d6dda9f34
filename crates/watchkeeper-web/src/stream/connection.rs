//! Connection: a reader who is there, and is sent what he can take (T1).
//!
//! What is out of date is the state of a connection, not part of the history of its stream: it is sent after `hello` and
//! whenever it changes, without a number, and is never repeated to a reader that comes back.

use std::sync::Arc;

use std::time::Duration;

use bytes::Bytes;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::message::{self, hello};
use super::session::{Pulled, Session};
use super::{GATHER, PING};
use crate::freshness::{self, Outage};

/// A reader of a stream. Dropped, he is gone, and may come back.
#[derive(Debug)]
pub(super) struct Connection {
    session: Arc<Session>,
    number: u64,
    /// The last message that was sent.
    cursor: u64,
    /// What is sent before all else.
    hello: Option<Bytes>,
    /// When something was sent last, or it began.
    sent: Instant,
    /// Until when changes are gathered.
    gathers: Option<Instant>,
    freshness: freshness::Receiver,
    /// What was last sent of it.
    sent_status: Status,
    heartbeat: Heartbeat,
}

/// What is out of date for the reader of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) server: Option<Outage>,
    /// By subscription.
    pub(super) stale: Vec<(Arc<str>, Outage)>,
}

/// What a silent stream sends, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heartbeat {
    /// A comment every [`PING`], for whatever lies between.
    Comment,
    /// An event, for a reader that has to know whether the stream is alive.
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
    /// Who has everything up to a message.
    pub(super) fn new(session: Arc<Session>, cursor: u64, resumed: bool) -> Self {
        let hello = Some(hello(&session.id, cursor, resumed));
        Self {
            number: session.attach(),
            freshness: session.freshness(),
            session,
            cursor,
            hello,
            sent: Instant::now(),
            gathers: None,
            sent_status: Status::default(),
            heartbeat: Heartbeat::Comment,
        }
    }

    pub(super) fn heartbeat(mut self, heartbeat: Heartbeat) -> Self {
        self.heartbeat = heartbeat;
        self
    }

    /// What is to be sent next; waits for it. `None` when there is no more.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        if let Some(hello) = self.hello.take() {
            return Some(hello);
        }
        yield_now().await; // what was made before is sent before more is made, and others have their turn
        loop {
            if let Some(status) = self.status() {
                return Some(status);
            }
            match self.session.pull(self.number, &mut self.cursor) {
                Pulled::Frame(frame) => {
                    self.sent = Instant::now();
                    self.gathers = Some(self.sent + GATHER);
                    return Some(frame);
                }
                Pulled::Over => return None,
                Pulled::Nothing => {}
            }
            tokio::select! {
                biased;
                () = self.session.bell.rung() => if let Some(until) = self.gathers {
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

    /// What is out of date, if that differs from what was sent.
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
