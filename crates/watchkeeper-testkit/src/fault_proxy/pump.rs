//! Pump: forwards the bytes of one direction of a connection.

use std::future::pending;
use std::io;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep_until};

/// Size of the buffer; a sender that fills it has to wait.
const ROOM: usize = 1 << 20;
/// Size of a read.
const READ: usize = 64 << 10;

/// One direction of a connection.
pub(super) struct Pump<'a> {
    from: ReadHalf<'a>,
    to: WriteHalf<'a>,
    /// Bytes that were read and not yet forwarded.
    held: BytesMut,
    pub(super) pace: Pace,
    /// The result of the sender, once it has ended.
    ended: Option<io::Result<()>>,
    /// Whether the end was forwarded.
    passed_end: bool,
}

/// Rate at which bytes are forwarded.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pace {
    All,
    Nothing,
    Trickle { bytes: usize, every: Duration, next: Instant },
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Passed(u64),
    /// The sender has ended.
    Ended,
    /// The end was forwarded.
    PassedEnd,
}

impl<'a> Pump<'a> {
    pub(super) fn new(from: ReadHalf<'a>, to: WriteHalf<'a>) -> Self {
        Self { from, to, held: BytesMut::new(), pace: Pace::All, ended: None, passed_end: false }
    }

    pub(super) fn is_done(&self) -> bool {
        self.passed_end
    }

    /// Reads or forwards, at most `most` bytes. Cancel safe.
    pub(super) async fn step(&mut self, most: Option<u64>) -> io::Result<Step> {
        loop {
            let most = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
            let (may_pass, due) = match self.pace {
                Pace::All => (most, None),
                Pace::Nothing => (0, None),
                Pace::Trickle { next, .. } if next > Instant::now() => (0, Some(next)),
                Pace::Trickle { bytes, .. } => (most.min(bytes), None),
            };
            let is_last = self.ended.is_some() && self.held.is_empty();
            if is_last && !self.passed_end && !matches!(self.pace, Pace::Nothing) {
                self.ended.take().unwrap_or(Ok(()))?;
                (self.ended, self.passed_end) = (Some(Ok(())), true);
                self.to.shutdown().await?;
                return Ok(Step::PassedEnd);
            }
            let count = may_pass.min(self.held.len());
            tokio::select! {
                ready = self.from.readable(), if self.ended.is_none() && self.held.len() < ROOM => {
                    if let Err(error) = ready {
                        self.ended = Some(Err(error));
                        return Ok(Step::Ended);
                    }
                    self.held.reserve(READ);
                    match self.from.try_read_buf(&mut self.held) {
                        Ok(0) => {
                            self.ended = Some(Ok(()));
                            return Ok(Step::Ended);
                        }
                        Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                            self.ended = Some(Err(error));
                            return Ok(Step::Ended);
                        }
                        Ok(_) | Err(_) => {}
                    }
                }
                ready = self.to.writable(), if count > 0 => {
                    ready?;
                    match self.to.try_write(&self.held[..count]) {
                        Ok(written) => {
                            self.held.advance(written);
                            if let Pace::Trickle { every, next, .. } = &mut self.pace {
                                *next = Instant::now() + *every;
                            }
                            return Ok(Step::Passed(written as u64));
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(error) => return Err(error),
                    }
                }
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
                () = pending() => {}
            }
        }
    }

    /// Closes the receiver's side, and reads until the sender ends.
    pub(super) async fn end(mut self) {
        let _ = self.to.shutdown().await; // the receiver may be gone
        let mut unread = [0; 4096];
        while self.ended.is_none() && self.from.readable().await.is_ok() {
            match self.from.try_read(&mut unread) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }
}
