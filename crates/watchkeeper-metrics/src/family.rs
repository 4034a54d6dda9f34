//! Family: the series of one name, one for each combination of label values.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::text;
use crate::values::Value;

/// How many series a family has at most (M2), besides the one for those that would be more.
pub const SERIES_LIMIT: usize = 2000;

/// The value of every label of the series that stands for all that are too many (M2).
pub const OVERFLOW: &str = "overflow";

/// The series of one name with `N` labels. Clones are the same family.
pub struct Family<T, const N: usize> {
    shared: Arc<Shared<T>>,
}

pub(crate) struct Shared<T> {
    pub(crate) description: Description,
    make: Make<T>,
    /// By their labels as they are written.
    series: RwLock<BTreeMap<String, Arc<T>>>,
}

type Make<T> = Box<dyn Fn() -> T + Send + Sync>;

/// What a name means (M1).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Description {
    pub(crate) name: String,
    pub(crate) help: String,
    pub(crate) kind: &'static str,
    pub(crate) labels: Vec<String>,
    /// The ends of a histogram's buckets.
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

    /// The series with these values for its labels, in the order of their names. It can be kept.
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
        let labels = match others < SERIES_LIMIT || series.contains_key(&labels) {
            true => labels,
            false => overflow,
        };
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
    /// A family without series is not written.
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
