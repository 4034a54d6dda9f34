//! Endings: of informers that were not stopped.

use tokio::sync::{broadcast, watch};
use watchkeeper_core::Collection;

use crate::reflector::Why;

/// So many endings are kept for who does not ask for the next; then the oldest are forgotten.
pub(super) const KEPT: usize = 64;

/// Hears why an informer has ended, before anybody else does.
pub(super) type WhenEnded = Box<dyn FnOnce(&Why) + Send>;

/// An informer of a factory has ended, though nobody stopped it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ending {
    /// Of what it was the informer.
    pub collection: Collection,
    /// Why it has ended: see [`Why::Gone`].
    pub why: Why,
}

impl Ending {
    pub(super) fn new(collection: Collection, why: Why) -> Self {
        Self { collection, why }
    }
}

/// Informers of a factory that end, though nobody stops them, from when this was asked for.
#[derive(Debug)]
#[must_use = "endings are reported only to those who hold this"]
pub struct Endings {
    /// `None` if the factory was stopped before.
    receiver: Option<broadcast::Receiver<Ending>>,
}

impl Endings {
    pub(super) fn of(sender: Option<&broadcast::Sender<Ending>>) -> Self {
        Self { receiver: sender.map(broadcast::Sender::subscribe) }
    }

    /// The next; waits for it. `None` once the factory was stopped or is gone. Of 64 that nobody has asked for
    /// the oldest is forgotten with each that follows. Dropping it half-way loses nothing.
    pub async fn next(&mut self) -> Option<Ending> {
        let receiver = self.receiver.as_mut()?;
        loop {
            match receiver.recv().await {
                Ok(ending) => return Some(ending),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

/// Tells why an informer has ended when its task has, in whatever way.
pub(super) struct Told {
    why: Why,
    ended: watch::Sender<Option<Why>>,
    when_ended: Option<WhenEnded>,
}

impl Told {
    pub(super) fn new(ended: watch::Sender<Option<Why>>, when_ended: Option<WhenEnded>) -> Self {
        Self { why: Why::Stopped, ended, when_ended }
    }

    pub(super) fn because(mut self, why: Why) {
        self.why = why;
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.why = Why::Panicked;
        }
        if let Some(when_ended) = self.when_ended.take() {
            when_ended(&self.why);
        }
        self.ended.send_replace(Some(self.why.clone()));
    }
}
