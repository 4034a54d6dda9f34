//! Back-off: how long what has failed is left alone, in seconds.

use std::time::Duration;

use crate::pace::Pace;

const FIRST: u32 = 10;
const MOST: u32 = 300;

/// How often something has failed lately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// After so many failures.
    pub(super) fn after(failures: u32) -> Self {
        Self { failures }
    }

    /// How many seconds it is to be left alone now that it has failed once more.
    pub(super) fn fail(&mut self) -> u32 {
        let seconds = FIRST.checked_shl(self.failures).filter(|seconds| *seconds >> self.failures == FIRST);
        self.failures = self.failures.saturating_add(1);
        seconds.unwrap_or(MOST).min(MOST)
    }

    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

/// Containers that ran so long are as if they had never failed.
pub(super) fn is_forgiven(ran: Duration, pace: &Pace) -> bool {
    ran >= pace.seconds(2 * MOST) && !ran.is_zero()
}

/// `10s`, `2m40s`.
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
        assert_eq!(Backoff::after(40).fail(), MOST);
    }
}
