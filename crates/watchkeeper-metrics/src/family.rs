//! Family: the series of one metric name, one per combination of label values.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::text;
use crate::values::Value;

/// Maximum number of series of a family (`metrics.M2`), without the [overflow](OVERFLOW) series.
pub const SERIES_LIMIT: usize = 2000;

/// Value of every label of the series that counts what exceeds [`SERIES_LIMIT`] (`metrics.M2`).
pub const OVERFLOW: &str = "overflow";

/// The series of one name with `N` labels. Clones are handles to the same family.
pub struct Family<T, const N: usize> {
    shared: Arc<Shared<T>>,
}

pub(crate) struct Shared<T> {
    pub(crate) description: Description,
    make: Make<T>,
    /// By label text.
    series: RwLock<BTreeMap<String, Arc<T>>>,
}

type Make<T> = Box<dyn Fn() -> T + Send + Sync>;

/// The meaning of a name (`metrics.M1`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Description {
    pub(crate) name: String,
    pub(crate) help: String,
    pub(crate) kind: &'static str,
    pub(crate) labels: Vec<String>,
    /// Upper bounds of a histogram's buckets.
    pub(crate) buckets: Vec<f64>,
}

impl<T: Value, const N: usize> Family<T, N> {
    pub(crate) fn new(description: Description, make: Make<T>) -> Self {
        Self { shared: Arc::new(Shared { description, make, series: RwLock::default() }) }
    }

    pub(crate) fn of(shared: Arc<Shared<T>>) -> Self {
        Self { shared }
    }

    pub(crate) fn shared(&self) -> Arc<Shared<T>> {
        self.shared.clone()
    }

    /// Returns the series with these label values, in the order of the label names, and creates it if needed. Keep it
    /// where it is used often.
    pub fn with(&self, values: [&str; N]) -> Arc<T> {
        let names = &self.shared.description.labels;
        let names: [&str; N] = std::array::from_fn(|position| names[position].as_str());
        let labels = text::labels(&names, &values);
        if let Some(known) = self.shared.series.read().get(&labels) {
            return known.clone();
        }
        let overflow = text::labels(&names, &[OVERFLOW; N]);
        let mut series = self.shared.series.write();
        let others = series.len() - usize::from(series.contains_key(&overflow));
        let has_room = others < SERIES_LIMIT || series.contains_key(&labels);
        let labels = if has_room { labels } else { overflow };
        series.entry(labels).or_insert_with(|| Arc::new((self.shared.make)())).clone()
    }
}

impl<T, const N: usize> Clone for Family<T, N> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<T, const N: usize> fmt::Debug for Family<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let series = self.shared.series.read().len();
        f.debug_struct("Family")
            .field("name", &self.shared.description.name)
            .field("series", &series)
            .finish_non_exhaustive()
    }
}

impl<T: Value> Shared<T> {
    /// Appends the family, unless it has no series.
    pub(crate) fn render(&self, out: &mut String) {
        let series: Vec<(String, Arc<T>)> =
            self.series.read().iter().map(|(labels, value)| (labels.clone(), value.clone())).collect();
        let Description { name, help, .. } = &self.description;
        if !series.is_empty() {
            text::head(out, name, help, T::TYPE);
        }
        for (labels, value) in &series {
            value.write(name, labels, out);
        }
    }
}
