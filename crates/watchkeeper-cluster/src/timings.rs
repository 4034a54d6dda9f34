//! Timings: durations in a simulated cluster.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Durations in a simulated cluster. The defaults suit a demonstration.
///
/// ```
/// use std::time::Duration;
/// use watchkeeper_cluster::Timings;
///
/// let mut timings = Timings::instant();
/// timings.second = Duration::from_millis(10); // a backoff of 5 minutes takes 3 seconds
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timings {
    /// Range of the time a container takes to start, including its image pull.
    pub start: RangeInclusive<Duration>,
    /// Run time of containers that run to completion: init containers, and those of a job's pods.
    pub job: Duration,
    /// Time containers take to stop when their pod is deleted, within its grace period.
    pub stop: Duration,
    /// Real duration of one simulated second, in which backoffs, grace periods and tolerations are counted.
    pub second: Duration,
    /// Interval at which a node renews its lease.
    pub heartbeat: Duration,
    /// Interval at which a node writes its status if nothing has changed.
    pub report: Duration,
    /// Time without a heartbeat after which a node is considered lost.
    pub lost_after: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            start: Duration::from_millis(300)..=Duration::from_millis(1_500),
            job: Duration::from_secs(2),
            stop: Duration::from_millis(500),
            second: Duration::from_secs(1),
            heartbeat: Duration::from_secs(10),
            report: Duration::from_secs(300),
            lost_after: Duration::from_secs(50),
        }
    }
}

impl Timings {
    /// Returns timings with which containers start and stop at once. A simulated second still takes a second.
    pub fn instant() -> Self {
        let none = Duration::ZERO;
        Self { start: none..=none, job: none, stop: none, ..Self::default() }
    }

    /// Returns the real duration of `count` simulated seconds.
    pub(crate) fn seconds(&self, count: u32) -> Duration {
        self.second.saturating_mul(count)
    }
}
