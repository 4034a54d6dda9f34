//! Internal error retry: limits how long a watch is reopened after internal server errors.

use std::time::Duration;

use tokio::time::Instant;

/// A gap of this length between two errors starts the time over.
const RESET_AFTER: Duration = Duration::from_secs(60);

/// The internal errors of one round.
#[derive(Debug)]
pub(super) struct InternalErrorRetry {
    /// Zero disables retries.
    max: Duration,
    /// The times of the first and the last error of the current series.
    errors: Option<(Instant, Instant)>,
}

impl InternalErrorRetry {
    pub(super) fn new(max: Duration) -> Self {
        Self { max, errors: None }
    }

    /// Records an internal error, and returns whether to reopen the watch.
    pub(super) fn should_retry(&mut self) -> bool {
        let now = Instant::now();
        let (first, last) = self.errors.unwrap_or((now, now));
        let first = if now.duration_since(last) >= RESET_AFTER { now } else { first };
        self.errors = Some((first, now));
        !self.max.is_zero() && now.duration_since(first) <= self.max
    }
}
