//! Reports: metrics, events, health check and callback of an election.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use watchkeeper_core::HealthCheck;
use watchkeeper_metrics::{Counter, Gauge, RegisterError, Registry};

use super::record::Held;
use crate::events::{Event, EventRecorder, Reference};

/// The observers of an election.
#[derive(Default)]
pub(super) struct Reports {
    /// Last renewal by this process, while it leads.
    ours_since: Arc<Mutex<Option<Instant>>>,
    /// The leader last reported to `on_change`.
    holder: Option<String>,
    on_change: Option<Box<OnChange>>,
    metrics: Option<Metrics>,
    recorder: Option<EventRecorder>,
}

pub(super) type OnChange = dyn FnMut(&str) + Send + Sync;

struct Metrics {
    leads: Arc<Gauge>,
    slow: Arc<Counter>,
}

impl Reports {
    pub(super) fn count(&mut self, registry: &Registry, name: &str) -> Result<(), RegisterError> {
        let leads = registry.gauge(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master.",
            ["name"],
        )?;
        let slow = registry.counter(
            "leader_election_slowpath_total",
            "Total number of slow path exercised in renewing leader leases.",
            ["name"],
        )?;
        let metrics = Metrics { leads: leads.with([name]), slow: slow.with([name]) };
        metrics.leads.set(0.0);
        self.metrics = Some(metrics);
        Ok(())
    }

    pub(super) fn on_change(&mut self, callback: Box<OnChange>) {
        self.on_change = Some(callback);
    }

    pub(super) fn events(&mut self, recorder: &EventRecorder) {
        self.recorder = Some(recorder.clone());
    }

    /// Returns a check that fails if this process leads and has not renewed for longer than `lease +
    /// tolerance`.
    pub(super) fn check(&self, lease: Duration, tolerance: Duration) -> HealthCheck {
        let ours_since = self.ours_since.clone();
        HealthCheck::new("leaderElection", move || match *ours_since.lock() {
            Some(since) if since.elapsed() > lease + tolerance => {
                Err(format!("lease not renewed for {:?}", since.elapsed()))
            }
            _ => Ok(()),
        })
    }

    /// Records that the lease has had this content since `since`.
    pub(super) fn observed(&mut self, held: &Held, since: Instant, identity: &str) {
        let holder = &held.record.holder;
        *self.ours_since.lock() = (holder == identity).then_some(since);
        if self.holder.as_ref() == Some(holder) {
            return;
        }
        self.holder = Some(holder.clone());
        if let Some(callback) = &mut self.on_change {
            callback(holder);
        }
    }

    /// Counts a renewal that had to read the lease first.
    pub(super) fn slow(&self) {
        if let Some(metrics) = &self.metrics {
            metrics.slow.increment();
        }
    }

    /// Records that this process starts or stops leading.
    pub(super) fn leads(&self, leads: bool, identity: &str, lease: Option<&Reference>) {
        if let Some(metrics) = &self.metrics {
            metrics.leads.set(if leads { 1.0 } else { 0.0 });
        }
        if let (Some(recorder), Some(lease)) = (&self.recorder, lease) {
            let what = if leads { "became leader" } else { "stopped leading" };
            recorder.record(lease, Event::normal("LeaderElection", format!("{identity} {what}")));
        }
    }
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reports").field("holder", &self.holder).finish_non_exhaustive()
    }
}
