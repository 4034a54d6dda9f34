//! Metrics of recorders and writers.

use std::sync::{Arc, OnceLock};

use watchkeeper_metrics::{Counter, Family, RegisterError, Registry};

/// The event counter, once it is registered. Clones share their state.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    counts: Arc<OnceLock<(String, Family<Counter, 2>)>>,
}

/// The outcome of an event, the `result` label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Result {
    /// Created on the server, or added to a count there.
    Written,
    /// Counted here; the server gets the count with the next refresh.
    Counted,
    /// Dropped because the queue was full.
    Dropped,
    /// Over the rate limit of its object.
    RateLimited,
    /// Rejected by the server.
    Rejected,
    /// Out of attempts, or out of time at shutdown.
    Failed,
}

impl Counts {
    pub(super) fn register(&self, registry: &Registry, name: &str) -> std::result::Result<(), RegisterError> {
        let family = registry.counter(
            "event_recorder_events_total",
            "Total number of recorded events per recorder and result.",
            ["name", "result"],
        )?;
        let _ = self.counts.set((name.to_owned(), family)); // the first registry wins
        Ok(())
    }

    pub(super) fn note(&self, result: Result) {
        let Some((name, family)) = self.counts.get() else { return };
        let result = match result {
            Result::Written => "written",
            Result::Counted => "counted",
            Result::Dropped => "dropped",
            Result::RateLimited => "rate_limited",
            Result::Rejected => "rejected",
            Result::Failed => "failed",
        };
        family.with([name, result]).increment();
    }
}
