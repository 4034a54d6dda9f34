//! Values: what is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::text::{self, Sample};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn increment(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// How many there have been.
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub struct Gauge(Float);

impl Gauge {
    /// It is this now.
    pub fn set(&self, value: f64) {
        self.0.0.store(value.to_bits(), Ordering::Relaxed);
    }

    /// So much more, or less.
    pub fn add(&self, difference: f64) {
        self.0.add(difference);
    }

    /// What it is.
    pub fn value(&self) -> f64 {
        self.0.value()
    }
}

/// How many of what was seen was how large.
#[derive(Debug)]
pub struct Histogram {
    /// The upper ends of the buckets, each larger than the one before. Another bucket has what is larger.
    ends: Arc<[f64]>,
    /// Of each bucket alone, without those below it.
    counts: Box<[AtomicU64]>,
    sum: Float,
}

impl Histogram {
    pub(crate) fn new(ends: Arc<[f64]>) -> Self {
        let counts = (0..=ends.len()).map(|_| AtomicU64::new(0)).collect();
        Self { ends, counts, sum: Float::default() }
    }

    /// This was seen. Its bucket is the first whose end it does not exceed; what is no number is in the last.
    pub fn observe(&self, value: f64) {
        let bucket = self.ends.iter().position(|end| value <= *end).unwrap_or(self.ends.len());
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.add(value);
    }

    /// How many were seen.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// All of them together.
    pub fn sum(&self) -> f64 {
        self.sum.value()
    }
}

/// An `f64` that many can add to.
#[derive(Debug, Default)]
struct Float(AtomicU64);

impl Float {
    fn add(&self, difference: f64) {
        let sum = |bits| Some((f64::from_bits(bits) + difference).to_bits());
        // It is always `Some`, and so is never refused.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
    }

    fn value(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}

/// What a series of a family is: a [`Counter`], a [`Gauge`] or a [`Histogram`].
pub trait Value: Written {}

impl<T: Written> Value for T {}

/// How a value is written; nobody else can have such.
pub trait Written: Send + Sync {
    /// The word for it in the text format.
    const TYPE: &'static str;

    /// Adds its lines.
    fn write(&self, name: &str, labels: &str, out: &mut String);
}

impl Written for Counter {
    const TYPE: &'static str = "counter";

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        text::sample(out, &Sample { name, suffix: "", labels, end: None }, &self.value().to_string());
    }
}

impl Written for Gauge {
    const TYPE: &'static str = "gauge";

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        text::sample(out, &Sample { name, suffix: "", labels, end: None }, &text::number(self.value()));
    }
}

impl Written for Histogram {
    const TYPE: &'static str = "histogram";

    /// The count is that of the last bucket, whatever is counted meanwhile.
    fn write(&self, name: &str, labels: &str, out: &mut String) {
        let ends = self.ends.iter().copied().chain([f64::INFINITY]);
        let mut count = 0;
        for (end, own) in ends.zip(&self.counts) {
            count += own.load(Ordering::Relaxed);
            let bucket = Sample { name, suffix: "_bucket", labels, end: Some(end) };
            text::sample(out, &bucket, &count.to_string());
        }
        text::sample(out, &Sample { name, suffix: "_sum", labels, end: None }, &text::number(self.sum()));
        text::sample(out, &Sample { name, suffix: "_count", labels, end: None }, &count.to_string());
    }
}
