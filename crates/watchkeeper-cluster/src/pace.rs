//! Pace: how long everything takes that takes time.

use std::ops::RangeInclusive;
use std::time::Duration;

/// How long everything takes in a cluster whose nodes are simulated: quick enough to look at unless changed.
///
/// ```
/// use std::time::Duration;
/// use watchkeeper_cluster::Pace;
///
/// let mut pace = Pace::instant();
/// pace.second = Duration::from_millis(10); // a back-off of 5 minutes takes 3 seconds
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pace {
    /// How long a container takes to start, its image included: some time of these.
    pub start: RangeInclusive<Duration>,
    /// How long containers run that do something and end: those of pods of a job, and init containers.
    pub job: Duration,
    /// How long containers take to end when a pod is deleted, if it gives them so long.
    pub stop: Duration,
    /// How long a second takes of what Kubernetes counts in seconds: back-offs, grace periods and how long pods
    /// tolerate a taint.
    pub second: Duration,
    /// How often a node renews its lease.
    pub heartbeat: Duration,
    /// How often a node writes its status where nothing has changed.
    pub report: Duration,
    /// How long nothing may be heard of a node before it counts as lost.
    pub lost_after: Duration,
}

impl Default for Pace {
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

impl Pace {
    /// Containers start and end at once. What Kubernetes counts in seconds takes as long as ever.
    pub fn instant() -> Self {
        let none = Duration::ZERO;
        Self { start: none..=none, job: none, stop: none, ..Self::default() }
    }

    /// So many seconds of Kubernetes.
    pub(crate) fn seconds(&self, count: u32) -> Duration {
        self.second.saturating_mul(count)
    }
}
