//! Progress: a reflector's phase, counts, version and last error.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use watchkeeper_core::ResourceVersion;

use super::Failure;

/// Number of listed items between two updates.
const UPDATE_EVERY: u64 = 100;

/// The progress of a reflector. While a list arrives it is updated every 100 items.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Progress {
    /// The current phase.
    pub phase: Phase,
    /// Number of items received of the current list, or of the last one if it is complete.
    pub items: u64,
    /// Expected number of items, if the server reports it.
    pub of: Option<u64>,
    /// The last resource version seen; empty before the first list is complete.
    pub version: ResourceVersion,
    /// Time of the last data from the source: a list, the response that opens a watch, an event or a bookmark. Receivers
    /// are not notified when only this changes.
    pub last_contact: Option<Instant>,
    /// The failure of the last request; `None` once the source sends data again. Each failure is a new `Arc`.
    pub failure: Option<Arc<Failure>>,
}

/// The phase of a reflector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Phase {
    /// Not running yet.
    #[default]
    Idle,
    /// Receiving the whole state.
    Listing,
    /// Watching for changes.
    Watching,
    /// Waiting before the next request.
    Waiting,
    /// Waiting before the next request, because the collection was removed from the server.
    Gone,
}

/// The write side of [`Progress`].
#[derive(Debug)]
pub(super) struct ProgressSender {
    sender: watch::Sender<Progress>,
    items: u64,
}

impl ProgressSender {
    pub(super) fn new() -> Self {
        Self { sender: watch::Sender::new(Progress::default()), items: 0 }
    }

    pub(super) fn receiver(&self) -> watch::Receiver<Progress> {
        self.sender.subscribe()
    }

    pub(super) fn phase(&self, phase: Phase) {
        self.sender.send_if_modified(|it| std::mem::replace(&mut it.phase, phase) != phase);
    }

    /// Records that the source has sent data.
    pub(super) fn record_contact(&self) {
        self.sender.send_if_modified(|it| {
            it.last_contact = Some(Instant::now());
            it.failure.take().is_some()
        });
    }

    /// Sets the failure of the last request.
    pub(super) fn set_failure(&self, failure: Failure) {
        let failure = Arc::new(failure);
        self.sender.send_modify(|it| it.failure = Some(failure));
    }

    pub(super) fn list_begins(&mut self) {
        self.items = 0;
        self.sender.send_modify(|it| (it.phase, it.items, it.of) = (Phase::Listing, 0, None));
    }

    pub(super) fn item(&mut self) {
        self.items += 1;
        if self.items.is_multiple_of(UPDATE_EVERY) {
            self.sender.send_modify(|it| it.items = self.items);
        }
    }

    pub(super) fn page_ends(&self, remaining: Option<u64>) {
        self.sender.send_modify(|it| {
            it.items = self.items;
            it.of = remaining.map(|remaining| self.items.saturating_add(remaining));
        });
    }

    /// Returns the number of items of the list.
    pub(super) fn list_ends(&self, version: &ResourceVersion) -> u64 {
        self.sender.send_modify(|it| {
            (it.phase, it.items, it.of) = (Phase::Watching, self.items, Some(self.items));
            it.version = version.clone();
        });
        self.items
    }

    pub(super) fn version(&self, version: &ResourceVersion) {
        self.sender.send_if_modified(|it| {
            let differs = it.version != *version;
            if differs {
                it.version = version.clone();
            }
            differs
        });
    }
}
