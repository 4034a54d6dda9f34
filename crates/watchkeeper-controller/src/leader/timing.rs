//! Timing: how long leases last, and when a leader gives up.

use std::time::Duration;

/// The durations of an election, longest first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// Time during which no other process may take the lease (client-go's `LeaseDuration`).
    pub(crate) lease: Duration,
    /// Time after its last renewal for which a leader keeps trying before it gives up (`RenewDeadline`).
    pub(crate) renew: Duration,
    /// Delay between attempts (`RetryPeriod`).
    pub(crate) retry: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease: seconds(15), renew: seconds(10), retry: seconds(2) }
    }
}

impl Timing {
    /// Returns whether a single failed attempt cannot cost the lease.
    pub(crate) fn is_sound(&self) -> bool {
        self.lease > self.renew && self.renew > self.retry.mul_f64(1.2) && !self.retry.is_zero()
    }

    /// Returns the timeout of one request, short enough that an unanswered one does not cost the lease.
    pub(crate) fn request(&self) -> Duration {
        (self.renew / 2).max(Duration::from_secs(1)).min(self.renew)
    }
}
