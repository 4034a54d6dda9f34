//! An observer that records metrics and forwards to another observer.

use std::sync::Arc;
use std::time::Duration;

use watchkeeper_core::{BoxError, Object, ObjectMeta, ResourceVersion, Status};
use watchkeeper_metrics::{Counter, Gauge, Histogram};

use super::{Families, digits};
use crate::reflector::{Failure, Next, Observer, Relist};

pub(super) struct Measured {
    inner: Box<dyn Observer>,
    name: String,
    families: Arc<Families>,
    /// Resolved once, because it is set with every event.
    last_version: Arc<Gauge>,
    lists: Arc<Counter>,
    list_durations: Arc<Histogram>,
    items_per_list: Arc<Histogram>,
    watches: Arc<Counter>,
    short_watches: Arc<Counter>,
    watch_durations: Arc<Histogram>,
    items_per_watch: Arc<Histogram>,
    decode_errors: Arc<Counter>,
}

impl Measured {
    pub(super) fn new(families: &Arc<Families>, name: &str, inner: Box<dyn Observer>) -> Self {
        Self {
            inner,
            name: name.to_owned(),
            last_version: families.last_version.with([name]),
            lists: families.lists.with([name]),
            list_durations: families.list_durations.with([name]),
            items_per_list: families.items_per_list.with([name]),
            watches: families.watches.with([name]),
            short_watches: families.short_watches.with([name]),
            watch_durations: families.watch_durations.with([name]),
            items_per_watch: families.items_per_watch.with([name]),
            decode_errors: families.decode_errors.with([name]),
            families: families.clone(),
        }
    }
}

impl Observer for Measured {
    fn failed(&mut self, reflector: &str, failure: &Failure, next: Next, after: Duration) {
        let operation = match failure {
            Failure::List(_) => "list",
            Failure::Watch(_) => "watch",
        };
        self.families.failures.with([&self.name, operation]).increment();
        self.inner.failed(reflector, failure, next, after);
    }

    fn gone(&mut self, reflector: &str, status: &Status) {
        self.inner.gone(reflector, status);
    }

    fn skipped(&mut self, reflector: &str, object: &Object, reason: &BoxError) {
        self.families.skipped.with([&self.name, "not_accepted"]).increment();
        self.inner.skipped(reflector, object, reason);
    }

    fn transform_failed(&mut self, reflector: &str, object: &ObjectMeta, reason: &BoxError) {
        self.families.skipped.with([&self.name, "not_transformed"]).increment();
        self.inner.transform_failed(reflector, object, reason);
    }

    fn stalled(&mut self, reflector: &str, asked: Duration, last: Option<Duration>) {
        self.inner.stalled(reflector, asked, last);
    }

    fn relists(&mut self, reason: Relist) {
        self.families.relists.with([&self.name, reason.as_str()]).increment();
        if reason == Relist::Malformed {
            self.decode_errors.increment();
        }
        self.inner.relists(reason);
    }

    fn list_begins(&mut self) {
        self.lists.increment();
        self.inner.list_begins();
    }

    fn list_ends(&mut self, took: Duration, items: u64) {
        self.list_durations.observe(took.as_secs_f64());
        self.items_per_list.observe(items as f64);
        self.inner.list_ends(took, items);
    }

    fn watch_begins(&mut self) {
        self.watches.increment();
        self.inner.watch_begins();
    }

    fn watch_ends(&mut self, took: Duration, events: u64, short: bool) {
        self.watch_durations.observe(took.as_secs_f64());
        self.items_per_watch.observe(events as f64);
        if short {
            self.short_watches.increment();
        }
        self.inner.watch_ends(took, events, short);
    }

    fn version(&mut self, version: &ResourceVersion) {
        self.last_version.set(digits(version));
        self.inner.version(version);
    }
}
