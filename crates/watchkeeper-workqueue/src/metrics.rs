//! Metrics: how much waits, and for how long, under the names that client-go has for it.

use std::sync::Arc;
use std::time::Duration;

use watchkeeper_metrics::{Counter, Gauge, Histogram, RegisterError, Registry};

/// The numbers of one queue.
#[derive(Debug)]
pub(crate) struct Metrics {
    depth: Arc<Gauge>,
    adds: Arc<Counter>,
    queued_for: Arc<Histogram>,
    worked_for: Arc<Histogram>,
    retries: Arc<Counter>,
    unfinished: Arc<Gauge>,
    longest: Arc<Gauge>,
}

impl Metrics {
    pub(crate) fn new(registry: &Registry, name: &str) -> Result<Self, RegisterError> {
        // From 10 ns to 10 s.
        let buckets: Vec<f64> = (-8..=1).map(|exponent| 10_f64.powi(exponent)).collect();
        let gauge = |of: &str, help| Ok::<_, RegisterError>(registry.gauge(of, help, ["name"])?.with([name]));
        let counter =
            |of: &str, help| Ok::<_, RegisterError>(registry.counter(of, help, ["name"])?.with([name]));
        let histogram = |of: &str, help| {
            Ok::<_, RegisterError>(registry.histogram(of, help, ["name"], &buckets)?.with([name]))
        };
        Ok(Self {
            depth: gauge("workqueue_depth", "Keys that wait.")?,
            adds: counter("workqueue_adds_total", "Keys that began to wait.")?,
            queued_for: histogram("workqueue_queue_duration_seconds", "How long keys waited.")?,
            worked_for: histogram("workqueue_work_duration_seconds", "How long keys were worked on.")?,
            retries: counter("workqueue_retries_total", "Keys that were delayed.")?,
            unfinished: gauge(
                "workqueue_unfinished_work_seconds",
                "How long all that are worked on now have been, together. What only grows is stuck.",
            )?,
            longest: gauge(
                "workqueue_longest_running_processor_seconds",
                "How long the one that is worked on longest has been.",
            )?,
        })
    }

    pub(crate) fn added(&self) {
        self.depth.add(1.0);
        self.adds.increment();
    }

    pub(crate) fn retried(&self) {
        self.retries.increment();
    }

    pub(crate) fn begun(&self, waited: Duration) {
        self.depth.add(-1.0);
        self.queued_for.observe(waited.as_secs_f64());
    }

    /// Nothing waits any more.
    pub(crate) fn abandoned(&self) {
        self.depth.set(0.0);
    }

    pub(crate) fn finished(&self, worked: Duration) {
        self.worked_for.observe(worked.as_secs_f64());
    }

    /// Sets what depends on the time that has passed.
    pub(crate) fn refresh(&self, running: impl Iterator<Item = Duration>) {
        let (sum, longest) = running
            .fold((Duration::ZERO, Duration::ZERO), |(sum, longest), one| (sum + one, longest.max(one)));
        self.unfinished.set(sum.as_secs_f64());
        self.longest.set(longest.as_secs_f64());
    }
}
