//! Freshness: whether the cache is up to date, and if not, since when and why.
//!
//! Input: a probe of the API server every [`PROBE_EVERY`], and the progress of every informer.
//! Output: [`Freshness`], read by `/readyz` and the streams; streams are also notified of changes.
//!
//! Invariants:
//! - `freshness.F1`: an API server that stops responding is reported within 4 s ([`PROBE_EVERY`] + [`PROBE_TIMEOUT`]),
//!   whether its connections break or go silent.
//! - `freshness.F2`: once it responds again, all informers reconnect immediately instead of after their backoff. A
//!   resource is reported stale until its informer has had contact with the server after that.
//! - `freshness.F3`: a resource whose informer fails for longer than [`GRACE`] is stale even if the server responds.

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

/// Interval of probes of the API server.
pub const PROBE_EVERY: Duration = Duration::from_secs(1);
/// Timeout of a probe: the server is unreachable if neither a pooled nor a new connection responds in this time.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// Time an informer may fail before its resource is reported stale.
pub const GRACE: Duration = Duration::from_secs(2);

/// Since when something is stale, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outage {
    /// When it was last known to be up to date.
    pub since: Instant,
    /// The reason.
    pub reason: Arc<str>,
}

impl Outage {
    pub(crate) fn new(since: Instant, reason: impl Into<Arc<str>>) -> Self {
        Self { since, reason: reason.into() }
    }
}

/// Formats as `for 12s: connection refused`.
impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "for {}s: {}", self.since.elapsed().as_secs(), self.reason)
    }
}

/// The stale parts of the cache.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Freshness {
    /// Set if the API server does not respond: everything is stale.
    pub server: Option<Outage>,
    /// The resources that are stale although the server responds.
    pub stale: BTreeMap<GroupVersionResource, Outage>,
}

impl Freshness {
    /// Returns whether everything is up to date.
    pub fn is_fresh(&self) -> bool {
        self.server.is_none() && self.stale.is_empty()
    }

    /// Returns the outage of a resource, if it is stale.
    pub fn of(&self, resource: &GroupVersionResource) -> Option<&Outage> {
        self.server.as_ref().or_else(|| self.stale.get(resource))
    }
}

/// A receiver of the current [`Freshness`] and its changes.
pub(crate) type Receiver = watch::Receiver<Freshness>;
