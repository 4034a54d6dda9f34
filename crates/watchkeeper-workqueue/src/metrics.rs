//! Metrics of a queue, under client-go's names.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use watchkeeper_metrics::{Counter, Gauge, Histogram, RegisterError, Registry};

use crate::time::Instant;

#[derive(Debug)]
pub(crate) struct Metrics {
    depth: Arc<Gauge>,
    adds: Arc<Counter>,
    queue_duration: Arc<Histogram>,
    work_duration: Arc<Histogram>,
    retries: Arc<Counter>,
    unfinished: Arc<Gauge>,
    longest_running: Arc<Gauge>,
    /// When workers received the keys that they hold, by slot.
    running: HashMap<usize, Instant>,
}

impl Metrics {
    pub(crate) fn new(registry: &Registry, queue: &str) -> Result<Self, RegisterError> {
        // From 10 ns to 10 s.
        let buckets: Vec<f64> = (-8..=1).map(|exponent| 10_f64.powi(exponent)).collect();
        let gauge =
            |name: &str, help| Ok::<_, RegisterError>(registry.gauge(name, help, ["name"])?.with([queue]));
        let counter =
            |name: &str, help| Ok::<_, RegisterError>(registry.counter(name, help, ["name"])?.with([queue]));
        let histogram = |name: &str, help| {
            Ok::<_, RegisterError>(registry.histogram(name, help, ["name"], &buckets)?.with([queue]))
        };
        Ok(Self {
            depth: gauge("workqueue_depth", "Keys that are ready.")?,
            adds: counter("workqueue_adds_total", "Keys added.")?,
            queue_duration: histogram(
                "workqueue_queue_duration_seconds",
                "Time from adding a key until a worker received it.",
            )?,
            work_duration: histogram("workqueue_work_duration_seconds", "Time a worker held a key.")?,
            retries: counter("workqueue_retries_total", "Keys added with a delay.")?,
            unfinished: gauge(
                "workqueue_unfinished_work_seconds",
                "Sum of the times that workers have held their current keys. Steady growth means that a worker is stuck.",
            )?,
            longest_running: gauge(
                "workqueue_longest_running_processor_seconds",
                "Longest time that a worker has held its current key.",
            )?,
            running: HashMap::new(),
        })
    }

    pub(crate) fn added(&self) {
        self.depth.add(1.0);
        self.adds.increment();
    }

    pub(crate) fn retried(&self) {
        self.retries.increment();
    }

    pub(crate) fn begun(&mut self, slot: usize, added: Instant) {
        let now = Instant::now();
        self.depth.add(-1.0);
        self.queue_duration.observe(now.duration_since(added).as_secs_f64());
        self.running.insert(slot, now);
    }

    pub(crate) fn abandoned(&self) {
        self.depth.set(0.0);
    }

    pub(crate) fn finished(&mut self, slot: usize) {
        if let Some(begun) = self.running.remove(&slot) {
            self.work_duration.observe(Instant::now().duration_since(begun).as_secs_f64());
        }
    }

    /// Sets the gauges that grow with time.
    pub(crate) fn refresh(&self) {
        let now = Instant::now();
        let times = || self.running.values().map(|begun| now.duration_since(*begun));
        let (sum, longest) = (times().sum::<Duration>(), times().max().unwrap_or_default());
        self.unfinished.set(sum.as_secs_f64());
        self.longest_running.set(longest.as_secs_f64());
    }
}
