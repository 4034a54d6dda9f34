//! Progress: how far the reflector has got, for whoever wants to wait for it or show it.

use std::error::Error;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use watchkeeper_core::ResourceVersion;

/// Told at least so often while a list arrives.
const TOLD_EVERY: u64 = 100;

/// How far a reflector has got. A list's items are told of by the hundred.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// How many items of the list have come; of the last list, once it has ended.
    pub items: u64,
    /// How many there will be, where the server tells.
    pub of: Option<u64>,
    /// The last version that was seen; empty before the first list has ended.
    pub version: ResourceVersion,
    /// When the source last sent something: a list, the answer that opens a watch, an event or a bookmark. Receivers
    /// are not notified when only this changes.
    pub last_contact: Option<Instant>,
    /// Why the last request failed, with its causes; `None` as soon as the source sends something again.
    pub error: Option<Arc<str>>,
}

/// What a reflector is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Phase {
    /// Nothing yet.
    #[default]
    Idle,
    /// The whole state arrives.
    Listing,
    /// The state is there, and changes are waited for.
    Watching,
    /// It waits before it asks again.
    Waiting,
    /// It waits before it asks again, and the collection is not there any more.
    Gone,
}

/// The writing end.
#[derive(Debug)]
pub(super) struct Teller {
    tell: watch::Sender<Progress>,
    items: u64,
}

impl Teller {
    pub(super) fn new() -> Self {
        Self { tell: watch::Sender::new(Progress::default()), items: 0 }
    }

    pub(super) fn receiver(&self) -> watch::Receiver<Progress> {
        self.tell.subscribe()
    }

    pub(super) fn phase(&self, phase: Phase) {
        self.tell.send_if_modified(|it| std::mem::replace(&mut it.phase, phase) != phase);
    }

    /// The source has sent something.
    pub(super) fn contact(&self) {
        self.tell.send_if_modified(|it| {
            it.last_contact = Some(Instant::now());
            it.error.take().is_some()
        });
    }

    /// A request has failed.
    pub(super) fn failed(&self, error: &(dyn Error + 'static)) {
        let causes: Vec<String> =
            std::iter::successors(Some(error), |error| (*error).source()).map(ToString::to_string).collect();
        self.tell.send_modify(|it| it.error = Some(causes.join(": ").into()));
    }

    pub(super) fn list_begins(&mut self) {
        self.items = 0;
        self.tell.send_modify(|it| (it.phase, it.items, it.of) = (Phase::Listing, 0, None));
    }

    pub(super) fn item(&mut self) {
        self.items += 1;
        if self.items.is_multiple_of(TOLD_EVERY) {
            self.tell.send_modify(|it| it.items = self.items);
        }
    }

    pub(super) fn page_ends(&self, remaining: Option<u64>) {
        self.tell.send_modify(|it| {
            it.items = self.items;
            it.of = remaining.map(|remaining| self.items.saturating_add(remaining));
        });
    }

    /// Returns how many items the list had.
    pub(super) fn list_ends(&self, version: &ResourceVersion) -> u64 {
        self.tell.send_modify(|it| {
            (it.phase, it.items, it.of) = (Phase::Watching, self.items, Some(self.items));
            it.version = version.clone();
        });
        self.items
    }

    pub(super) fn version(&self, version: &ResourceVersion) {
        self.tell.send_if_modified(|it| {
            let differs = it.version != *version;
            if differs {
                it.version = version.clone();
            }
            differs
        });
    }
}
