//! Metrics of a queue, under client-go's names.

use std::sync::Arc;
use std::time::Duration;

use watchkeeper_metrics::{Counter, Gauge, Histogram, RegisterError, Registry};

#[derive(Debug)]
pub(crate) struct Metrics {
    depth: Arc<Gauge>,
    adds: Arc<Counter>,
    queue_duration: Arc<Histogram>,
    work_duration: Arc<Histogram>,
    retries: Arc<Counter>,
    unfinished: Arc<Gauge>,
    longest_running: Arc<Gauge>,
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
        self.queue_duration.observe(waited.as_secs_f64());
    }

    pub(crate) fn abandoned(&self) {
        self.depth.set(0.0);
    }

    pub(crate) fn finished(&self, worked: Duration) {
        self.work_duration.observe(worked.as_secs_f64());
    }

    /// Sets the gauges that grow with time, from how long each worker has held its key.
    pub(crate) fn refresh(&self, running: impl Iterator<Item = Duration>) {
        let (mut sum, mut longest) = (Duration::ZERO, Duration::ZERO);
        for time in running {
            sum += time;
            longest = longest.max(time);
        }
        self.unfinished.set(sum.as_secs_f64());
        self.longest_running.set(longest.as_secs_f64());
    }
}
