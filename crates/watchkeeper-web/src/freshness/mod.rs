//! Freshness: whether the cache is current, and if not, since when and why.
//!
//! Input: a probe of the API server every [`PROBE_EVERY`], and the progress of every informer.
//! Output: [`Freshness`], which `/readyz` and the streams read, and whose changes the streams are notified of.
//!
//! - `freshness.F1`: an API server that stops answering is reported within 4 s ([`PROBE_EVERY`] + [`PROBE_TIMEOUT`]),
//!   whether its connections break or only fall silent.
//! - `freshness.F2`: once it answers again, all informers reconnect at once instead of after their backoff. A resource is
//!   reported stale until its informer has heard from the server after that.
//! - `freshness.F3`: a resource whose informer fails for longer than [`GRACE`] is stale, though the server answers.

mod monitor;
mod probe;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use watchkeeper_core::GroupVersionResource;

pub(crate) use monitor::Monitor;

/// How often the API server is probed.
pub const PROBE_EVERY: Duration = Duration::from_secs(1);
/// How long a probe may take: the server is unreachable if neither a pooled connection nor a new one answers in this time.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long an informer may fail before its resource is reported stale.
pub const GRACE: Duration = Duration::from_secs(2);

/// Since when something is out of date, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outage {
    /// When it was last known to be current.
    pub since: Instant,
    /// Why it is not.
    pub reason: Arc<str>,
}

impl Outage {
    pub(crate) fn new(since: Instant, reason: impl Into<Arc<str>>) -> Self {
        Self { since, reason: reason.into() }
    }
}

/// `for 12s: connection refused`
impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "for {}s: {}", self.since.elapsed().as_secs(), self.reason)
    }
}

/// What is out of date.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Freshness {
    /// The API server does not answer: nothing is current.
    pub server: Option<Outage>,
    /// The resources that are not current although the server answers.
    pub stale: BTreeMap<GroupVersionResource, Outage>,
}

impl Freshness {
    /// Whether everything is current.
    pub fn is_fresh(&self) -> bool {
        self.server.is_none() && self.stale.is_empty()
    }

    /// The outage of a resource, if it is not current.
    pub fn of(&self, resource: &GroupVersionResource) -> Option<&Outage> {
        self.server.as_ref().or_else(|| self.stale.get(resource))
    }
}

/// The current [`Freshness`], and its changes.
pub(crate) type Receiver = watch::Receiver<Freshness>;
