//! Exits: informers that ended without being stopped.

use tokio::sync::{broadcast, watch};
use watchkeeper_core::Collection;

use crate::reflector::ExitReason;

/// Number of exits buffered for a slow receiver; older ones are dropped.
pub(super) const BUFFERED_EXITS: usize = 64;

/// Called with the reason when an informer ends, before anyone waiting for the end is woken.
pub(super) type OnExit = Box<dyn FnOnce(&ExitReason) + Send>;

/// An informer of a factory ended without being stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InformerExited {
    /// The informer's collection.
    pub collection: Collection,
    /// Why it ended.
    pub reason: ExitReason,
}

impl InformerExited {
    pub(super) fn new(collection: Collection, reason: ExitReason) -> Self {
        Self { collection, reason }
    }
}

/// A receiver of a factory's informers that end without being stopped; see
/// [`InformerFactory::exits`](super::InformerFactory::exits).
///
/// Buffers 64 items; if the receiver is slower, the oldest are dropped.
#[derive(Debug)]
#[must_use = "receives only while it exists"]
pub struct InformerExits {
    /// `None` if the factory had already been stopped.
    receiver: Option<broadcast::Receiver<InformerExited>>,
}

impl InformerExits {
    pub(super) fn new(sender: Option<&broadcast::Sender<InformerExited>>) -> Self {
        Self { receiver: sender.map(broadcast::Sender::subscribe) }
    }

    /// Waits for the next exit. Returns `None` once the factory is stopped or dropped. Cancel safe.
    pub async fn next(&mut self) -> Option<InformerExited> {
        let receiver = self.receiver.as_mut()?;
        loop {
            match receiver.recv().await {
                Ok(exit) => return Some(exit),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

/// A guard that publishes why an informer ended when its task ends: on return, panic or abort.
pub(super) struct ExitGuard {
    reason: ExitReason,
    exited: watch::Sender<Option<ExitReason>>,
    on_exit: Option<OnExit>,
}

impl ExitGuard {
    pub(super) fn new(exited: watch::Sender<Option<ExitReason>>, on_exit: Option<OnExit>) -> Self {
        Self { reason: ExitReason::Stopped, exited, on_exit }
    }

    pub(super) fn exit(mut self, reason: ExitReason) {
        self.reason = reason;
    }
}

impl Drop for ExitGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.reason = ExitReason::Panicked;
        }
        if let Some(on_exit) = self.on_exit.take() {
            on_exit(&self.reason);
        }
        self.exited.send_replace(Some(self.reason.clone()));
    }
}
