//! Exits: informers that ended without being stopped.

use tokio::sync::{broadcast, watch};
use watchkeeper_core::Collection;

use crate::reflector::Why;

/// Number of exits buffered for a slow receiver; older ones are dropped.
pub(super) const BUFFERED_EXITS: usize = 64;

/// Called with the reason when an informer ends, before anyone waiting for the end is woken.
pub(super) type OnExit = Box<dyn FnOnce(&Why) + Send>;

/// An informer of a factory ended without being stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ending {
    /// The informer's collection.
    pub collection: Collection,
    /// Why it ended.
    pub why: Why,
}

impl Ending {
    pub(super) fn new(collection: Collection, why: Why) -> Self {
        Self { collection, why }
    }
}

/// A receiver of a factory's informers that end without being stopped; see
/// [`InformerFactory::endings`](super::InformerFactory::endings).
///
/// Buffers 64 items; if the receiver is slower, the oldest are dropped.
#[derive(Debug)]
#[must_use = "receives only while it exists"]
pub struct Endings {
    /// `None` if the factory had already been stopped.
    receiver: Option<broadcast::Receiver<Ending>>,
}

impl Endings {
    pub(super) fn new(sender: Option<&broadcast::Sender<Ending>>) -> Self {
        Self { receiver: sender.map(broadcast::Sender::subscribe) }
    }

    /// Waits for the next exit. Returns `None` once the factory is stopped or dropped. Cancel safe.
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

/// Publishes why an informer ended when its task ends: on return, panic or abort.
pub(super) struct ExitGuard {
    why: Why,
    ended: watch::Sender<Option<Why>>,
    on_exit: Option<OnExit>,
}

impl ExitGuard {
    pub(super) fn new(ended: watch::Sender<Option<Why>>, on_exit: Option<OnExit>) -> Self {
        Self { why: Why::Stopped, ended, on_exit }
    }

    pub(super) fn exit(mut self, why: Why) {
        self.why = why;
    }
}

impl Drop for ExitGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.why = Why::Panicked;
        }
        if let Some(on_exit) = self.on_exit.take() {
            on_exit(&self.why);
        }
        self.ended.send_replace(Some(self.why.clone()));
    }
}
