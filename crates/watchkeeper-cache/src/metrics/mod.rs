//! Metrics: what informers count, for whoever scrapes it.
//!
//! From: reflectors, as their [`Observer`]; stores and handlers, which are asked when the page is written.
//! To:   a [`Registry`], under client-go's names where it has one.
//!
//! - N1: an informer that is not measured counts nothing that costs anything.
//! - N2: an informer that is gone is not on the page any more but for what its reflector has counted.
//! - N3: labels are few: the informer's name, the handler's name, a reason. Names of objects are in none.

mod observer;

use std::sync::Arc;

use crate::lock::Mutex;
use watchkeeper_core::ResourceVersion;
use watchkeeper_metrics::{Counter, Family, Gauge, Histogram, MetricType, RegisterError, Registry};

use crate::handler::Figures;
use crate::reflector::{Observer, Reflector};
use crate::sink::Sink;
use crate::store::{Sizes, Store, WeakStore};
use observer::Measured;

/// From a millisecond to a minute.
const DURATIONS: &[f64] = &[0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// From a second to the twenty minutes and more that watches last.
const WATCH_DURATIONS: &[f64] = &[1.0, 5.0, 15.0, 60.0, 180.0, 300.0, 420.0, 600.0, 1200.0, 3600.0];
const ITEMS: &[f64] = &[0.0, 1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0];

/// The metrics of informers. Clones are the same.
///
/// Of reflectors, by `name`: `reflector_lists_total`, `reflector_list_duration_seconds`,
/// `reflector_items_per_list`, `reflector_watches_total`, `reflector_short_watches_total`,
/// `reflector_watch_duration_seconds`, `reflector_items_per_watch`, `reflector_last_resource_version`;
/// `reflector_relists_total` also by `reason`; `reflector_failures_total` by `operation`;
/// `reflector_decode_errors_total` and `reflector_skipped_objects_total`, by `reason`.
///
/// Of stores, by `name`: `informer_store_resource_version`, `informer_store_objects`, and
/// `informer_store_bytes` by `cause`.
///
/// Of handlers, by `name` and `handler`: `informer_queued_items`, `informer_handler_lag_seconds`,
/// `informer_handler_coalesced_total`, `informer_handler_dropped_total`, `informer_handler_panics_total`. Those of
/// one name are added up, and of their lags the longest counts.
///
/// ```
/// use watchkeeper_cache::metrics::InformerMetrics;
/// use watchkeeper_metrics::Registry;
///
/// # fn example(factory: &watchkeeper_cache::InformerFactory) -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::new();
/// factory.measure(&InformerMetrics::new(&registry)?);
/// // ... and `registry.render()` is what `/metrics` answers with.
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct InformerMetrics {
    families: Arc<Families>,
    stores: Arc<Mutex<Vec<Measuring>>>,
}

/// A store, and the name of its informer.
#[derive(Debug, Clone)]
struct Measuring {
    name: Arc<str>,
    store: WeakStore,
}

/// What reflectors count.
#[derive(Debug)]
struct Families {
    lists: Family<Counter, 1>,
    list_durations: Family<Histogram, 1>,
    items_per_list: Family<Histogram, 1>,
    watches: Family<Counter, 1>,
    short_watches: Family<Counter, 1>,
    watch_durations: Family<Histogram, 1>,
    items_per_watch: Family<Histogram, 1>,
    last_version: Family<Gauge, 1>,
    relists: Family<Counter, 2>,
    failures: Family<Counter, 2>,
    decode_errors: Family<Counter, 1>,
    skipped: Family<Counter, 2>,
}

impl InformerMetrics {
    /// Registers them all.
    ///
    /// # Errors
    /// If the registry has such a name already: one serves any number of informers.
    pub fn new(registry: &Registry) -> Result<Self, RegisterError> {
        let stores: Arc<Mutex<Vec<Measuring>>> = Arc::default();
        let per_store = |name: &str, help: &str, value: fn(&Store) -> f64| {
            let stores = stores.clone();
            registry.computed_series(name, help, ["name"], MetricType::Gauge, move || {
                let row = |(name, store): (String, Store)| ([name], value(&store));
                living(&stores).into_iter().map(row).collect()
            })
        };
        per_store("informer_store_objects", "Objects in the store of an informer.", |store| {
            store.snapshot().len() as f64
        })?;
        per_store(
            "informer_store_resource_version",
            "The last 15 digits of the version that the store of an informer has seen.",
            |store| digits(store.snapshot().version()),
        )?;
        registry.computed_series(
            "informer_store_bytes",
            "Memory of the store of an informer, by what it is used for.",
            ["name", "cause"],
            MetricType::Gauge,
            {
                let stores = stores.clone();
                move || {
                    let rows = |(name, store): (String, Store)| causes(&name, &store.snapshot().sizes());
                    living(&stores).into_iter().flat_map(rows).collect()
                }
            },
        )?;
        let per_handler = |name: &str, help: &str, sort: MetricType, value: fn(&Figures) -> u64| {
            let stores = stores.clone();
            registry.computed_series(name, help, ["name", "handler"], sort, move || {
                let of = |(name, figures): (String, Figures)| {
                    ([name, figures.name.to_string()], value(&figures) as f64)
                };
                handlers(&stores).map(of).collect()
            })
        };
        per_handler(
            "informer_queued_items",
            "Changes that wait to be handled, by informer and handler.",
            MetricType::Gauge,
            |figures| figures.pending as u64,
        )?;
        per_handler(
            "informer_handler_coalesced_total",
            "Changes that became one with another of their key before they were handled.",
            MetricType::Counter,
            |figures| figures.coalesced,
        )?;
        per_handler(
            "informer_handler_dropped_total",
            "Events that were dropped because nobody took them in time.",
            MetricType::Counter,
            |figures| figures.dropped,
        )?;
        per_handler(
            "informer_handler_panics_total",
            "Panics of handlers, by informer and handler.",
            MetricType::Counter,
            |figures| figures.panics,
        )?;
        registry.computed_series(
            "informer_handler_lag_seconds",
            "How long the oldest change has waited to be handled, by informer and handler.",
            ["name", "handler"],
            MetricType::Gauge,
            {
                let stores = stores.clone();
                move || longest(handlers(&stores))
            },
        )?;
        Ok(Self { families: Arc::new(Families::new(registry)?), stores })
    }

    /// An observer that counts under a name, and passes on what it hears to another: `()` is one that logs.
    pub fn observer(&self, name: &str, inner: impl Observer + 'static) -> impl Observer + 'static {
        Measured::new(&self.families, name, Box::new(inner))
    }

    /// Has a reflector counted, and a store for as long as it is there.
    pub(crate) fn measure<S: Sink>(&self, name: &str, reflector: Option<&mut Reflector<S>>, store: &Store) {
        if let Some(reflector) = reflector {
            reflector.observe_also(|name, inner| Measured::new(&self.families, name, inner));
        }
        self.stores.lock().push(Measuring { name: name.into(), store: store.downgrade() });
    }
}

impl Families {
    fn new(registry: &Registry) -> Result<Self, RegisterError> {
        let by_name = ["name"];
        Ok(Self {
            lists: registry.counter(
                "reflector_lists_total",
                "Times that the whole state was asked for.",
                by_name,
            )?,
            list_durations: registry.histogram(
                "reflector_list_duration_seconds",
                "How long the whole state took to come.",
                by_name,
                DURATIONS,
            )?,
            items_per_list: registry.histogram(
                "reflector_items_per_list",
                "How many objects the whole state had.",
                by_name,
                ITEMS,
            )?,
            watches: registry.counter("reflector_watches_total", "Watches that were opened.", by_name)?,
            short_watches: registry.counter(
                "reflector_short_watches_total",
                "Watches that were over within a second and brought nothing.",
                by_name,
            )?,
            watch_durations: registry.histogram(
                "reflector_watch_duration_seconds",
                "How long watches lasted.",
                by_name,
                WATCH_DURATIONS,
            )?,
            items_per_watch: registry.histogram(
                "reflector_items_per_watch",
                "How many events watches brought.",
                by_name,
                ITEMS,
            )?,
            last_version: registry.gauge(
                "reflector_last_resource_version",
                "The last 15 digits of the version that was seen last.",
                by_name,
            )?,
            relists: registry.counter(
                "reflector_relists_total",
                "Times that the whole state was asked for again, by reason.",
                ["name", "reason"],
            )?,
            failures: registry.counter(
                "reflector_failures_total",
                "Lists that failed and watches that could not be opened.",
                ["name", "operation"],
            )?,
            decode_errors: registry.counter(
                "reflector_decode_errors_total",
                "Answers that could not be read.",
                by_name,
            )?,
            skipped: registry.counter(
                "reflector_skipped_objects_total",
                "Objects that were not accepted or could not be transformed.",
                ["name", "reason"],
            )?,
        })
    }
}

/// The stores that are still there; the others are forgotten.
fn living(stores: &Mutex<Vec<Measuring>>) -> Vec<(String, Store)> {
    let mut stores = stores.lock();
    stores.retain(|measuring| measuring.store.upgrade().is_some());
    let alive = |it: &Measuring| Some((it.name.to_string(), it.store.upgrade()?));
    stores.iter().filter_map(alive).collect()
}

fn handlers(stores: &Mutex<Vec<Measuring>>) -> impl Iterator<Item = (String, Figures)> {
    living(stores)
        .into_iter()
        .flat_map(|(name, store)| store.handlers().into_iter().map(move |figures| (name.clone(), figures)))
}

/// The longest lag of each name: what is added up to a sum would say nothing.
fn longest(handlers: impl Iterator<Item = (String, Figures)>) -> Vec<([String; 2], f64)> {
    let mut longest = std::collections::BTreeMap::<[String; 2], f64>::new();
    for (name, figures) in handlers {
        let lag = longest.entry([name, figures.name.to_string()]).or_default();
        *lag = lag.max(figures.lag.as_secs_f64());
    }
    longest.into_iter().collect()
}

fn causes(name: &str, sizes: &Sizes) -> Vec<([String; 2], f64)> {
    let row = |cause: &str, bytes: usize| ([name.to_owned(), cause.to_owned()], bytes as f64);
    vec![
        row("bodies", sizes.bodies),
        row("heads", sizes.heads),
        row("entries", sizes.entries),
        row("indexes", sizes.indexes),
    ]
}

/// As much of a version as a float can hold; 0 if it is no number.
fn digits(version: &ResourceVersion) -> f64 {
    version.as_u64().map_or(0.0, |number| (number % 1_000_000_000_000_000) as f64)
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn of_a_version_that_is_too_long_for_a_float_the_last_digits_are_kept() {
        assert_eq!(digits(&42.into()), 42.0);
        assert_eq!(digits(&"1234567890123456789".into()), 567_890_123_456_789.0);
        assert_eq!((digits(&"".into()), digits(&"etag".into())), (0.0, 0.0));
    }
}
