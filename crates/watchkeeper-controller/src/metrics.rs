//! Metrics of one controller's reconcile calls.

use std::sync::Arc;
use std::time::Duration;

use watchkeeper_metrics::{Counter, Family, Gauge, Histogram, RegisterError, Registry};

/// Reconcile metrics, labelled with the controller's name.
#[derive(Debug)]
pub(crate) struct Metrics {
    name: String,
    total: Family<Counter, 2>,
    seconds: Arc<Histogram>,
    active: Arc<Gauge>,
}

/// Upper bounds of the duration buckets, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0];

impl Metrics {
    pub(crate) fn new(registry: &Registry, name: &str) -> Result<Self, RegisterError> {
        let total = registry.counter(
            "controller_reconcile_total",
            "Total number of reconciliations per controller and result.",
            ["controller", "result"],
        )?;
        let seconds = registry.histogram(
            "controller_reconcile_time_seconds",
            "Length of time per reconciliation.",
            ["controller"],
            &BUCKETS,
        )?;
        let active = registry.gauge(
            "controller_active_workers",
            "Number of workers currently reconciling.",
            ["controller"],
        )?;
        Ok(Self { name: name.to_owned(), total, seconds: seconds.with([name]), active: active.with([name]) })
    }

    pub(crate) fn start(&self) {
        self.active.add(1.0);
    }

    pub(crate) fn finish(&self, took: Duration, result: &str) {
        self.active.add(-1.0);
        self.seconds.observe(took.as_secs_f64());
        self.total.with([&self.name, result]).increment();
    }
}
