//! Registry: the families of one page.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::family::{Description, Family, OVERFLOW, SERIES_LIMIT, Shared};
use crate::text::{self, Sample};
use crate::values::{Counter, Gauge, Histogram, Value};

/// Families by name. Clones are handles to the same registry.
#[derive(Clone, Default)]
pub struct Registry {
    families: Arc<Mutex<BTreeMap<String, Entry>>>,
    refreshers: Arc<Mutex<Vec<Arc<Refresh>>>>,
}

/// Updates gauges before a page is rendered; returns false to be removed.
type Refresh = dyn Fn() -> bool + Send + Sync;

#[derive(Clone)]
enum Entry {
    Counter(Arc<Shared<Counter>>),
    Gauge(Arc<Shared<Gauge>>),
    Histogram(Arc<Shared<Histogram>>),
    Computed(Arc<Computed>),
}

/// A family whose values are computed when the page is rendered.
struct Computed {
    description: Description,
    compute: Compute,
}

type Compute = Box<dyn Fn() -> BTreeMap<String, f64> + Send + Sync>;

/// The type of a computed metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    /// Goes up and down.
    Gauge,
    /// Only grows.
    Counter,
}

/// Why a family cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name of the metric or of a label is invalid.
    Name(String),
    /// The name is registered with another type, help text, labels or buckets (`metrics.M1`).
    Taken(String),
    /// The bounds of the buckets are not finite, or do not increase.
    Buckets(String),
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "invalid metric or label name {name:?}"),
            Self::Taken(name) => write!(f, "metric {name:?} is already registered with another description"),
            Self::Buckets(name) => {
                write!(f, "invalid buckets of {name:?}: bounds must be finite and increasing")
            }
        }
    }
}

impl std::error::Error for RegisterError {}

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers counters, or returns the family that is registered with the same description.
    ///
    /// # Errors
    /// [`RegisterError::Name`] and [`RegisterError::Taken`].
    pub fn counter<const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: [&str; N],
    ) -> Result<Family<Counter, N>, RegisterError> {
        let description = describe::<Counter>(name, help, &labels, &[])?;
        self.family(description, Counter::default, Entry::Counter, |entry| match entry {
            Entry::Counter(shared) => Some(shared),
            _ => None,
        })
    }

    /// Registers gauges, or returns the family that is registered with the same description.
    ///
    /// # Errors
    /// [`RegisterError::Name`] and [`RegisterError::Taken`].
    pub fn gauge<const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: [&str; N],
    ) -> Result<Family<Gauge, N>, RegisterError> {
        let description = describe::<Gauge>(name, help, &labels, &[])?;
        self.family(description, Gauge::default, Entry::Gauge, |entry| match entry {
            Entry::Gauge(shared) => Some(shared),
            _ => None,
        })
    }

    /// Registers histograms with these upper bounds of their buckets, or returns the family that is registered with
    /// the same description.
    ///
    /// # Errors
    /// [`RegisterError`].
    pub fn histogram<const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: [&str; N],
        buckets: &[f64],
    ) -> Result<Family<Histogram, N>, RegisterError> {
        let increases = buckets.windows(2).all(|pair| pair[0] < pair[1]);
        if !increases || !buckets.iter().all(|bound| bound.is_finite()) {
            return Err(RegisterError::Buckets(name.to_owned()));
        }
        if labels.contains(&"le") {
            return Err(RegisterError::Name("le".to_owned()));
        }
        let description = describe::<Histogram>(name, help, &labels, buckets)?;
        let bounds: Arc<[f64]> = buckets.into();
        self.family(
            description,
            move || Histogram::new(bounds.clone()),
            Entry::Histogram,
            |entry| match entry {
                Entry::Histogram(shared) => Some(shared),
                _ => None,
            },
        )
    }

    /// Registers a gauge that is computed when the page is rendered. `compute` must not block or use the registry.
    ///
    /// # Errors
    /// [`RegisterError::Name`] and [`RegisterError::Taken`].
    pub fn computed(
        &self,
        name: &str,
        help: &str,
        compute: impl Fn() -> f64 + Send + Sync + 'static,
    ) -> Result<(), RegisterError> {
        self.computed_series(name, help, [], MetricType::Gauge, move || vec![([], compute())])
    }

    /// Registers series that are computed when the page is rendered. Values with the same labels are added up.
    /// `compute` must not block or use the registry.
    ///
    /// # Errors
    /// [`RegisterError::Name`] and [`RegisterError::Taken`].
    pub fn computed_series<const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: [&str; N],
        metric_type: MetricType,
        compute: impl Fn() -> Vec<([String; N], f64)> + Send + Sync + 'static,
    ) -> Result<(), RegisterError> {
        let description = match metric_type {
            MetricType::Gauge => describe::<Gauge>(name, help, &labels, &[])?,
            MetricType::Counter => describe::<Counter>(name, help, &labels, &[])?,
        };
        let names = description.labels.clone();
        let compute = move || {
            let names: [&str; N] = std::array::from_fn(|position| names[position].as_str());
            let mut series = BTreeMap::new();
            for (values, value) in compute() {
                let values: [&str; N] = std::array::from_fn(|position| values[position].as_str());
                let mut labels = text::labels(&names, &values);
                if series.len() >= SERIES_LIMIT && !series.contains_key(&labels) {
                    labels = text::labels(&names, &[OVERFLOW; N]); // metrics.M2
                }
                *series.entry(labels).or_insert(0.0) += value;
            }
            series
        };
        let mut families = self.families.lock();
        if families.contains_key(name) {
            return Err(RegisterError::Taken(name.to_owned()));
        }
        let computed = Computed { description, compute: Box::new(compute) };
        families.insert(name.to_owned(), Entry::Computed(Arc::new(computed)));
        Ok(())
    }

    /// Calls `refresh` before each page is rendered, to set gauges that depend on the time. It must not block. Once
    /// it returns false, it is not called again.
    pub fn before_render(&self, refresh: impl Fn() -> bool + Send + Sync + 'static) {
        self.refreshers.lock().push(Arc::new(refresh));
    }

    /// Renders all families, sorted by name, in the text format of Prometheus
    /// ([`CONTENT_TYPE`](crate::CONTENT_TYPE)).
    pub fn render(&self) -> String {
        // Callbacks run without a lock.
        let refreshers = self.refreshers.lock().clone();
        let gone: Vec<_> = refreshers.into_iter().filter(|refresh| !refresh()).collect();
        self.refreshers.lock().retain(|refresh| !gone.iter().any(|gone| Arc::ptr_eq(gone, refresh)));
        let families = self.families.lock().clone();
        let mut out = String::new();
        for (name, entry) in &families {
            match entry {
                Entry::Counter(shared) => shared.render(&mut out),
                Entry::Gauge(shared) => shared.render(&mut out),
                Entry::Histogram(shared) => shared.render(&mut out),
                Entry::Computed(computed) => {
                    let series = (computed.compute)();
                    if !series.is_empty() {
                        text::head(&mut out, name, &computed.description.help, computed.description.kind);
                    }
                    for (labels, value) in &series {
                        let sample = Sample { name, suffix: "", labels, bound: None };
                        text::sample(&mut out, &sample, &text::number(*value));
                    }
                }
            }
        }
        out
    }

    fn family<T: Value, const N: usize>(
        &self,
        description: Description,
        make: impl Fn() -> T + Send + Sync + 'static,
        entry: fn(Arc<Shared<T>>) -> Entry,
        own: fn(&Entry) -> Option<&Arc<Shared<T>>>,
    ) -> Result<Family<T, N>, RegisterError> {
        let mut families = self.families.lock();
        let name = description.name.clone();
        if let Some(known) = families.get(&name) {
            let same = own(known).filter(|known| known.description == description);
            return same.cloned().map(Family::of).ok_or(RegisterError::Taken(name));
        }
        let family = Family::new(description, Box::new(make));
        families.insert(name, entry(family.shared()));
        Ok(family)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.families.lock().keys()).finish()
    }
}

fn describe<T: Value>(
    name: &str,
    help: &str,
    labels: &[&str],
    buckets: &[f64],
) -> Result<Description, RegisterError> {
    if !text::is_name(name) {
        return Err(RegisterError::Name(name.to_owned()));
    }
    for (position, label) in labels.iter().enumerate() {
        if !text::is_label(label) || labels[..position].contains(label) {
            return Err(RegisterError::Name((*label).to_owned()));
        }
    }
    Ok(Description {
        name: name.to_owned(),
        help: help.to_owned(),
        kind: T::TYPE,
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        buckets: buckets.to_vec(),
    })
}
