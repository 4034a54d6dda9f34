//! Timing: how long leases last, and how soon one gives up.

use std::time::Duration;

/// The times of an election, in the order of their length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// For how long nobody else may take it.
    pub(crate) lease: Duration,
    /// For how long after its last renewal a leader tries to renew, before it gives up.
    pub(crate) renew: Duration,
    /// How often it is tried.
    pub(crate) retry: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease: seconds(15), renew: seconds(10), retry: seconds(2) }
    }
}

impl Timing {
    /// Who has a lease is not to lose it because a single try fails.
    pub(crate) fn is_sound(&self) -> bool {
        self.lease > self.renew && self.renew > self.retry.mul_f64(1.2) && !self.retry.is_zero()
    }

    /// How long a request may take, so that one that is not answered does not cost the leadership.
    pub(crate) fn request(&self) -> Duration {
        (self.renew / 2).max(Duration::from_secs(1)).min(self.renew)
    }
}
