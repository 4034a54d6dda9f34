//! Recorder: counts and recent events of each reflector, for the final assertions and for failure messages.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use watchkeeper_cache::reflector::{Failure, Next, Observer};
use watchkeeper_core::{BoxError, Object, Status};

/// Number of recent log lines to keep.
const SHOWN: usize = 12;

/// Counts and recent log lines of one reflector.
#[derive(Debug)]
pub(crate) struct ReflectorLog {
    started: Instant,
    pub(crate) lists: AtomicU64,
    pub(crate) watches: AtomicU64,
    pub(crate) failures: AtomicU64,
    recent: Mutex<VecDeque<String>>,
}

impl Default for ReflectorLog {
    fn default() -> Self {
        let (lists, watches, failures) = Default::default();
        Self { started: Instant::now(), lists, watches, failures, recent: Mutex::default() }
    }
}

impl ReflectorLog {
    fn push(&self, message: &str) {
        let mut recent = self.recent.lock().unwrap();
        if recent.len() == SHOWN {
            recent.pop_front();
        }
        recent.push_back(format!("{:.1} s: {message}", self.started.elapsed().as_secs_f64()));
    }
}

impl fmt::Display for ReflectorLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = self.started.elapsed().as_secs_f64();
        write!(f, "{:?} lists, {:?} watches, {:?} failures", self.lists, self.watches, self.failures)?;
        write!(f, "; recent:\n  ")?;
        for line in &*self.recent.lock().unwrap() {
            write!(f, "{line}\n  ")?;
        }
        write!(f, "{now:.1} s: now")
    }
}

/// An [`Observer`] that writes to a [`ReflectorLog`].
pub(crate) struct Recorder(pub(crate) Arc<ReflectorLog>);

impl Observer for Recorder {
    fn failed(&mut self, _: &str, failure: &Failure, next: Next, after: Duration) {
        self.0.failures.fetch_add(1, Ordering::Relaxed);
        let mut causes = vec![failure.to_string()];
        let mut cause = std::error::Error::source(failure);
        while let Some(error) = cause {
            causes.push(error.to_string());
            cause = error.source();
        }
        self.0.push(&format!("{}; {next:?} after {after:?}", causes.join(": ")));
    }

    fn gone(&mut self, _: &str, status: &Status) {
        self.0.push(&format!("gone: {status}"));
    }

    fn skipped(&mut self, reflector: &str, object: &Object, why: &BoxError) {
        panic!("{reflector} skipped {}: {why}", object.metadata.key());
    }

    fn stalled(&mut self, _: &str, asked: Duration, last: Option<Duration>) {
        self.0.push(&format!("stalled; requested {asked:?} ago, last data {last:?} ago"));
    }

    fn list_begins(&mut self) {
        self.0.lists.fetch_add(1, Ordering::Relaxed);
        self.0.push("list started");
    }

    fn list_ends(&mut self, took: Duration, items: u64) {
        self.0.push(&format!("list of {items} items ended after {took:?}"));
    }

    fn watch_begins(&mut self) {
        self.0.watches.fetch_add(1, Ordering::Relaxed);
        self.0.push("watch started");
    }

    fn watch_ends(&mut self, took: Duration, events: u64, _: bool) {
        self.0.push(&format!("watch ended after {took:?} and {events} events"));
    }
}
