//! Reports: what others are told of an election.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use watchkeeper_core::Check;
use watchkeeper_metrics::{Counter, Gauge, RegisterError, Registry};

use super::record::Held;
use crate::events::{Occurrence, Recorder, Reference};

/// Who is told what.
#[derive(Default)]
pub(super) struct Reports {
    /// Since when this process has not renewed, if it leads.
    ours_since: Arc<Mutex<Option<Instant>>>,
    /// Who was reported to lead last.
    holder: Option<String>,
    on_change: Option<Box<OnChange>>,
    numbers: Option<Numbers>,
    recorder: Option<Recorder>,
}

pub(super) type OnChange = dyn FnMut(&str) + Send + Sync;

struct Numbers {
    leads: Arc<Gauge>,
    slow: Arc<Counter>,
}

impl Reports {
    pub(super) fn count(&mut self, registry: &Registry, name: &str) -> Result<(), RegisterError> {
        let leads = registry.gauge(
            "leader_election_master_status",
            "Whether this process leads: 1 if it does, 0 if another may.",
            ["name"],
        )?;
        let slow = registry.counter(
            "leader_election_slowpath_total",
            "How often a lease was renewed only after it was looked at again.",
            ["name"],
        )?;
        let numbers = Numbers { leads: leads.with([name]), slow: slow.with([name]) };
        numbers.leads.set(0.0);
        self.numbers = Some(numbers);
        Ok(())
    }

    pub(super) fn on_change(&mut self, tell: Box<OnChange>) {
        self.on_change = Some(tell);
    }

    pub(super) fn events(&mut self, recorder: &Recorder) {
        self.recorder = Some(recorder.clone());
    }

    /// Not well if this process leads, as far as it knows, and has not renewed for longer than that.
    pub(super) fn check(&self, lease: Duration, tolerance: Duration) -> Check {
        let ours_since = self.ours_since.clone();
        Check::new("leaderElection", move || match *ours_since.lock() {
            Some(since) if since.elapsed() > lease + tolerance => {
                Err(format!("the lease was not renewed for {:?}", since.elapsed()))
            }
            _ => Ok(()),
        })
    }

    /// The lease says something new since then.
    pub(super) fn observed(&mut self, held: &Held, since: Instant, identity: &str) {
        let holder = &held.record.holder;
        *self.ours_since.lock() = (holder == identity).then_some(since);
        if self.holder.as_ref() == Some(holder) {
            return;
        }
        self.holder = Some(holder.clone());
        if let Some(tell) = &mut self.on_change {
            tell(holder);
        }
    }

    /// It was renewed, but not at the first try.
    pub(super) fn slow(&self) {
        if let Some(numbers) = &self.numbers {
            numbers.slow.increment();
        }
    }

    /// Whether this process leads from now on.
    pub(super) fn leads(&self, leads: bool, identity: &str, lease: Option<&Reference>) {
        if let Some(numbers) = &self.numbers {
            numbers.leads.set(if leads { 1.0 } else { 0.0 });
        }
        if let (Some(recorder), Some(lease)) = (&self.recorder, lease) {
            let what = if leads { "became leader" } else { "stopped leading" };
            recorder.record(lease, Occurrence::normal("LeaderElection", format!("{identity} {what}")));
        }
    }
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reports").field("holder", &self.holder).finish_non_exhaustive()
    }
}
