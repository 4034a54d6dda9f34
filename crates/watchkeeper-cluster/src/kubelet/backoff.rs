//! Restart backoff, in simulated seconds.

use std::time::Duration;

use crate::timings::Timings;

const FIRST: u32 = 10;
const MAX: u32 = 300;

/// The number of recent failures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Creates a backoff after a number of failures.
    pub(super) fn after(failures: u32) -> Self {
        Self { failures }
    }

    /// Records a failure, and returns the delay in seconds.
    pub(super) fn fail(&mut self) -> u32 {
        let seconds = FIRST.checked_shl(self.failures).filter(|seconds| *seconds >> self.failures == FIRST);
        self.failures = self.failures.saturating_add(1);
        seconds.unwrap_or(MAX).min(MAX)
    }

    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

/// Returns whether a container ran long enough for its failures to be forgotten.
pub(super) fn is_forgiven(ran: Duration, timings: &Timings) -> bool {
    ran >= timings.seconds(2 * MAX) && !ran.is_zero()
}

/// Formats seconds as `10s` or `2m40s`.
pub(super) fn display(seconds: u32) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backoff_doubles_up_to_five_minutes() {
        let mut backoff = Backoff::default();
        let mut fail = || display(backoff.fail());
        assert_eq!([fail(), fail(), fail(), fail()], ["10s", "20s", "40s", "1m20s"]);
        assert_eq!([fail(), fail(), fail()], ["2m40s", "5m0s", "5m0s"]);
        assert_eq!(Backoff::after(40).fail(), MAX);
    }
}
