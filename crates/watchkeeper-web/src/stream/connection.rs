//! Connection: a reader who is there, and is sent what he can take (T1).

use std::sync::Arc;

use bytes::Bytes;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::message::{self, hello};
use super::session::{Pulled, Session};
use super::{GATHER, PING};

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
}

impl Connection {
    /// Who has everything up to a message.
    pub(super) fn new(session: Arc<Session>, cursor: u64, resumed: bool) -> Self {
        let hello = Some(hello(&session.id, cursor, resumed));
        Self { number: session.attach(), session, cursor, hello, sent: Instant::now(), gathers: None }
    }

    /// What is to be sent next; waits for it. `None` when there is no more.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        if let Some(hello) = self.hello.take() {
            return Some(hello);
        }
        yield_now().await; // what was made before is sent before more is made, and others have their turn
        loop {
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
                () = sleep_until(self.sent + PING) => {
                    self.sent = Instant::now();
                    return Some(Bytes::from_static(message::PING));
                }
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.session.detach(self.number);
    }
}
