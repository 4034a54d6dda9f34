//! Metrics: how often keys were looked at, and what became of them.

use std::sync::Arc;
use std::time::Duration;

use watchkeeper_metrics::{Counter, Family, Gauge, Histogram, RegisterError, Registry};

/// The numbers of one controller.
#[derive(Debug)]
pub(crate) struct Metrics {
    name: String,
    total: Family<Counter, 2>,
    seconds: Arc<Histogram>,
    active: Arc<Gauge>,
}

/// The ends of the buckets, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0];

impl Metrics {
    pub(crate) fn new(registry: &Registry, name: &str) -> Result<Self, RegisterError> {
        let total = registry.counter(
            "controller_reconcile_total",
            "How often keys were looked at, by what became of it.",
            ["controller", "result"],
        )?;
        let seconds = registry.histogram(
            "controller_reconcile_time_seconds",
            "How long it took to look at a key.",
            ["controller"],
            &BUCKETS,
        )?;
        let active = registry.gauge(
            "controller_active_workers",
            "How many keys are looked at now.",
            ["controller"],
        )?;
        Ok(Self { name: name.to_owned(), total, seconds: seconds.with([name]), active: active.with([name]) })
    }

    pub(crate) fn begun(&self) {
        self.active.add(1.0);
    }

    pub(crate) fn ended(&self, took: Duration, result: &str) {
        self.active.add(-1.0);
        self.seconds.observe(took.as_secs_f64());
        self.total.with([&self.name, result]).increment();
    }
}
