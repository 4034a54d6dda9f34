//! Patience: for how long a server that fails internally is asked again.

use std::time::Duration;

use tokio::time::Instant;

/// After this time without such an error, patience is as it was at first.
const RESET_AFTER: Duration = Duration::from_secs(60);

/// The internal errors of one round.
#[derive(Debug)]
pub(super) struct Patience {
    /// Zero is none at all.
    lasts: Duration,
    /// When the first and the last of a row of errors came.
    errors: Option<(Instant, Instant)>,
}

impl Patience {
    pub(super) fn new(lasts: Duration) -> Self {
        Self { lasts, errors: None }
    }

    /// An internal error has come. Returns whether to bear it.
    pub(super) fn bears(&mut self) -> bool {
        let now = Instant::now();
        let (first, last) = self.errors.unwrap_or((now, now));
        let first = if now.duration_since(last) >= RESET_AFTER { now } else { first };
        self.errors = Some((first, now));
        !self.lasts.is_zero() && now.duration_since(first) <= self.lasts
    }
}
