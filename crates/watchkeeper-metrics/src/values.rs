//! Values: counters, gauges and histograms.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::text::{self, Sample};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds one.
    pub fn increment(&self) {
        self.add(1);
    }

    /// Adds `count`.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the value.
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub struct Gauge(Float);

impl Gauge {
    /// Sets the value.
    pub fn set(&self, value: f64) {
        self.0.0.store(value.to_bits(), Ordering::Relaxed);
    }

    /// Adds a difference, which may be negative.
    pub fn add(&self, difference: f64) {
        self.0.add(difference);
    }

    /// Returns the value.
    pub fn value(&self) -> f64 {
        self.0.value()
    }
}

/// The distribution of observed values.
#[derive(Debug)]
pub struct Histogram {
    /// Upper bounds of the buckets, increasing. One more bucket counts what exceeds the last.
    bounds: Arc<[f64]>,
    /// Per bucket, not cumulative.
    counts: Box<[AtomicU64]>,
    sum: Float,
}

impl Histogram {
    pub(crate) fn new(bounds: Arc<[f64]>) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: Float::default() }
    }

    /// Records a value in the first bucket whose bound it does not exceed; NaN in the last.
    pub fn observe(&self, value: f64) {
        let bucket = self.bounds.iter().position(|bound| value <= *bound).unwrap_or(self.bounds.len());
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.add(value);
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Returns the sum of the recorded values.
    pub fn sum(&self) -> f64 {
        self.sum.value()
    }
}

/// An atomic `f64`.
#[derive(Debug, Default)]
struct Float(AtomicU64);

impl Float {
    fn add(&self, difference: f64) {
        let sum = |bits| Some((f64::from_bits(bits) + difference).to_bits());
        // Never fails: `sum` always returns `Some`.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
    }

    fn value(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}

/// The value of a series: a [`Counter`], a [`Gauge`] or a [`Histogram`]. Sealed.
pub trait Value: Render {}

impl<T: Render> Value for T {}

/// Renders a value. Not exported, which seals [`Value`].
pub trait Render: Send + Sync {
    /// Type name in the text format.
    const TYPE: &'static str;

    /// Appends the lines of the series.
    fn write(&self, name: &str, labels: &str, out: &mut String);
}

impl Render for Counter {
    const TYPE: &'static str = "counter";

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        text::sample(out, &Sample { name, suffix: "", labels, bound: None }, &self.value().to_string());
    }
}

impl Render for Gauge {
    const TYPE: &'static str = "gauge";

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        text::sample(out, &Sample { name, suffix: "", labels, bound: None }, &text::number(self.value()));
    }
}

impl Render for Histogram {
    const TYPE: &'static str = "histogram";

    /// The count is that of the last bucket, so that both agree even if values are recorded meanwhile.
    fn write(&self, name: &str, labels: &str, out: &mut String) {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        let mut count = 0;
        for (bound, own) in bounds.zip(&self.counts) {
            count += own.load(Ordering::Relaxed);
            let bucket = Sample { name, suffix: "_bucket", labels, bound: Some(bound) };
            text::sample(out, &bucket, &count.to_string());
        }
        text::sample(out, &Sample { name, suffix: "_sum", labels, bound: None }, &text::number(self.sum()));
        text::sample(out, &Sample { name, suffix: "_count", labels, bound: None }, &count.to_string());
    }
}
