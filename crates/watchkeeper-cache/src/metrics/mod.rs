//! Metrics of informers.
//!
//! Input:  reflectors, through an [`Observer`]; stores and handlers, which are read on each scrape.
//! Output: a [`Registry`], under client-go's names where it has one.
//!
//! Invariants:
//! - `informer_metrics.N1`: an informer without metrics pays nothing for them.
//! - `informer_metrics.N2`: a dropped informer disappears from the output, except for its reflector's counters.
//! - `informer_metrics.N3`: label values are bounded: informer name, handler name, reason. Object names are never labels.

mod observer;

use std::sync::Arc;

use crate::lock::Mutex;
use watchkeeper_core::ResourceVersion;
use watchkeeper_metrics::{Counter, Family, Gauge, Histogram, MetricType, RegisterError, Registry};

use crate::handler::HandlerStats;
use crate::reflector::{Observer, Reflector};
use crate::sink::Sink;
use crate::store::{Sizes, Store, WeakStore};
use observer::Measured;

/// Buckets from a millisecond to a minute.
const DURATIONS: &[f64] = &[0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// Buckets from a second to an hour.
const WATCH_DURATIONS: &[f64] = &[1.0, 5.0, 15.0, 60.0, 180.0, 300.0, 420.0, 600.0, 1200.0, 3600.0];
const ITEMS: &[f64] = &[0.0, 1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0];

/// The metrics of informers. Clones share the same registration.
///
/// Reflectors, labelled `name`: `reflector_lists_total`, `reflector_list_duration_seconds`,
/// `reflector_items_per_list`, `reflector_watches_total`, `reflector_short_watches_total`,
/// `reflector_watch_duration_seconds`, `reflector_items_per_watch`, `reflector_last_resource_version`,
/// `reflector_decode_errors_total`; with `reason`: `reflector_relists_total`, `reflector_skipped_objects_total`; with
/// `operation`: `reflector_failures_total`.
///
/// Stores, labelled `name`: `informer_store_resource_version`, `informer_store_objects`; with `cause`:
/// `informer_store_bytes`.
///
/// Handlers, labelled `name` and `handler`: `informer_queued_items`, `informer_handler_lag_seconds`,
/// `informer_handler_coalesced_total`, `informer_handler_dropped_total`, `informer_handler_panics_total`. Handlers with
/// the same name are summed up; for the lag, the largest counts.
///
/// ```
/// use watchkeeper_cache::metrics::InformerMetrics;
/// use watchkeeper_metrics::Registry;
///
/// # fn example(factory: &watchkeeper_cache::InformerFactory) -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::new();
/// factory.measure(&InformerMetrics::new(&registry)?);
/// // ... and `/metrics` returns `registry.render()`.
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct InformerMetrics {
    families: Arc<Families>,
    stores: Arc<Mutex<Vec<MeasuredStore>>>,
}

/// A store and the name of its informer.
#[derive(Debug, Clone)]
struct MeasuredStore {
    name: Arc<str>,
    store: WeakStore,
}

/// The metrics of reflectors.
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
    /// Registers the metrics. One registration serves any number of informers.
    ///
    /// # Errors
    /// If the registry already has a metric with one of these names.
    pub fn new(registry: &Registry) -> Result<Self, RegisterError> {
        let stores: Arc<Mutex<Vec<MeasuredStore>>> = Arc::default();
        let per_store = |name: &str, help: &str, value: fn(&Store) -> f64| {
            let stores = stores.clone();
            registry.computed_series(name, help, ["name"], MetricType::Gauge, move || {
                let row = |(name, store): (String, Store)| ([name], value(&store));
                live_stores(&stores).into_iter().map(row).collect()
            })
        };
        per_store("informer_store_objects", "Number of objects in an informer's store.", |store| {
            store.snapshot().len() as f64
        })?;
        per_store(
            "informer_store_resource_version",
            "The last 15 digits of the resource version of an informer's store.",
            |store| digits(store.snapshot().version()),
        )?;
        registry.computed_series(
            "informer_store_bytes",
            "Memory of an informer's store in bytes, by use.",
            ["name", "cause"],
            MetricType::Gauge,
            {
                let stores = stores.clone();
                move || {
                    let rows = |(name, store): (String, Store)| causes(&name, &store.snapshot().sizes());
                    live_stores(&stores).into_iter().flat_map(rows).collect()
                }
            },
        )?;
        let per_handler =
            |name: &str, help: &str, metric_type: MetricType, value: fn(&HandlerStats) -> u64| {
                let stores = stores.clone();
                registry.computed_series(name, help, ["name", "handler"], metric_type, move || {
                    let row = |(name, stats): (String, HandlerStats)| {
                        ([name, stats.name.to_string()], value(&stats) as f64)
                    };
                    handlers(&stores).map(row).collect()
                })
            };
        per_handler(
            "informer_queued_items",
            "Number of pending changes, by informer and handler.",
            MetricType::Gauge,
            |stats| stats.pending as u64,
        )?;
        per_handler(
            "informer_handler_coalesced_total",
            "Number of changes merged into a pending one of the same key.",
            MetricType::Counter,
            |stats| stats.coalesced,
        )?;
        per_handler(
            "informer_handler_dropped_total",
            "Number of raw events dropped because the buffer was full.",
            MetricType::Counter,
            |stats| stats.dropped,
        )?;
        per_handler(
            "informer_handler_panics_total",
            "Number of handler panics, by informer and handler.",
            MetricType::Counter,
            |stats| stats.panics,
        )?;
        registry.computed_series(
            "informer_handler_lag_seconds",
            "Age of the oldest pending change, by informer and handler.",
            ["name", "handler"],
            MetricType::Gauge,
            {
                let stores = stores.clone();
                move || longest(handlers(&stores))
            },
        )?;
        Ok(Self { families: Arc::new(Families::new(registry)?), stores })
    }

    /// Returns an observer that records metrics under `name` and forwards every call to `inner`; `()` logs failures.
    pub fn observer(&self, name: &str, inner: impl Observer + 'static) -> impl Observer + 'static {
        Measured::new(&self.families, name, Box::new(inner))
    }

    /// Records metrics of a reflector, and of a store until it is dropped.
    pub(crate) fn measure<S: Sink>(&self, name: &str, reflector: Option<&mut Reflector<S>>, store: &Store) {
        if let Some(reflector) = reflector {
            reflector.observe_also(|name, inner| Measured::new(&self.families, name, inner));
        }
        self.stores.lock().push(MeasuredStore { name: name.into(), store: store.downgrade() });
    }
}

impl Families {
    fn new(registry: &Registry) -> Result<Self, RegisterError> {
        let by_name = ["name"];
        Ok(Self {
            lists: registry.counter(
                "reflector_lists_total",
                "Number of full lists, including initial events.",
                by_name,
            )?,
            list_durations: registry.histogram(
                "reflector_list_duration_seconds",
                "Duration of full lists.",
                by_name,
                DURATIONS,
            )?,
            items_per_list: registry.histogram(
                "reflector_items_per_list",
                "Number of objects in full lists.",
                by_name,
                ITEMS,
            )?,
            watches: registry.counter("reflector_watches_total", "Number of opened watches.", by_name)?,
            short_watches: registry.counter(
                "reflector_short_watches_total",
                "Number of watches that ended within a second without an event.",
                by_name,
            )?,
            watch_durations: registry.histogram(
                "reflector_watch_duration_seconds",
                "Duration of watches.",
                by_name,
                WATCH_DURATIONS,
            )?,
            items_per_watch: registry.histogram(
                "reflector_items_per_watch",
                "Number of events per watch.",
                by_name,
                ITEMS,
            )?,
            last_version: registry.gauge(
                "reflector_last_resource_version",
                "The last 15 digits of the last resource version seen.",
                by_name,
            )?,
            relists: registry.counter(
                "reflector_relists_total",
                "Number of relists, by reason.",
                ["name", "reason"],
            )?,
            failures: registry.counter(
                "reflector_failures_total",
                "Number of failed lists and of watches that could not be opened.",
                ["name", "operation"],
            )?,
            decode_errors: registry.counter(
                "reflector_decode_errors_total",
                "Number of malformed responses.",
                by_name,
            )?,
            skipped: registry.counter(
                "reflector_skipped_objects_total",
                "Number of objects that were rejected or failed to be transformed.",
                ["name", "reason"],
            )?,
        })
    }
}

/// Returns the stores that still exist, and removes the others.
fn live_stores(stores: &Mutex<Vec<MeasuredStore>>) -> Vec<(String, Store)> {
    let mut stores = stores.lock();
    stores.retain(|measured| measured.store.upgrade().is_some());
    let upgrade = |measured: &MeasuredStore| Some((measured.name.to_string(), measured.store.upgrade()?));
    stores.iter().filter_map(upgrade).collect()
}

fn handlers(stores: &Mutex<Vec<MeasuredStore>>) -> impl Iterator<Item = (String, HandlerStats)> {
    live_stores(stores)
        .into_iter()
        .flat_map(|(name, store)| store.handlers().into_iter().map(move |stats| (name.clone(), stats)))
}

/// Returns the largest lag for each name; a sum of lags would be meaningless.
fn longest(handlers: impl Iterator<Item = (String, HandlerStats)>) -> Vec<([String; 2], f64)> {
    let mut longest = std::collections::BTreeMap::<[String; 2], f64>::new();
    for (name, stats) in handlers {
        let lag = longest.entry([name, stats.name.to_string()]).or_default();
        *lag = lag.max(stats.lag.as_secs_f64());
    }
    longest.into_iter().collect()
}

fn causes(name: &str, sizes: &Sizes) -> Vec<([String; 2], f64)> {
    let row = |cause: &str, bytes: usize| ([name.to_owned(), cause.to_owned()], bytes as f64);
    vec![
        row("bodies", sizes.bodies),
        row("metadata", sizes.metadata),
        row("entries", sizes.entries),
        row("indexes", sizes.indexes),
    ]
}

/// Returns the digits of a version that a float can hold exactly; 0 if it is not a number.
fn digits(version: &ResourceVersion) -> f64 {
    version.as_u64().map_or(0.0, |number| (number % 1_000_000_000_000_000) as f64)
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn a_version_too_long_for_a_float_keeps_its_last_digits() {
        assert_eq!(digits(&42.into()), 42.0);
        assert_eq!(digits(&"1234567890123456789".into()), 567_890_123_456_789.0);
        assert_eq!((digits(&"".into()), digits(&"etag".into())), (0.0, 0.0));
    }
}
