//! What recorders and writers count.

use std::sync::{Arc, OnceLock};

use watchkeeper_metrics::{Counter, Family, RegisterError, Registry};

/// The numbers of one recorder and its writer, if somebody wants them. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    counts: Arc<OnceLock<(String, Family<Counter, 2>)>>,
}

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Result {
    /// It is on the server, or counts there.
    Written,
    /// It counts here, and will on the server.
    Counted,
    /// There was no room for it.
    Dropped,
    /// It was one too many of its object.
    Spared,
    /// The server does not want it.
    Refused,
    /// It was tried too often, or there was no time left.
    GivenUp,
}

impl Counts {
    pub(super) fn register(&self, registry: &Registry, name: &str) -> std::result::Result<(), RegisterError> {
        let family = registry.counter(
            "event_recorder_events_total",
            "Events that were recorded, by what became of them.",
            ["name", "result"],
        )?;
        let _ = self.counts.set((name.to_owned(), family)); // the first registry counts
        Ok(())
    }

    pub(super) fn note(&self, result: Result) {
        let Some((name, family)) = self.counts.get() else { return };
        let result = match result {
            Result::Written => "written",
            Result::Counted => "counted",
            Result::Dropped => "dropped",
            Result::Spared => "spared",
            Result::Refused => "refused",
            Result::GivenUp => "given_up",
        };
        family.with([name, result]).increment();
    }
}
