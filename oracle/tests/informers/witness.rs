//! Witness: what an informer goes through, to be weighed in the end and shown where something is wrong.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use watchkeeper_cache::reflector::{Failure, Next, Observer};
use watchkeeper_core::{BoxError, Object, Status};

/// How much of it is shown.
const SHOWN: usize = 12;

/// What an informer has gone through.
#[derive(Debug)]
pub(crate) struct Seen {
    begun: Instant,
    pub(crate) lists: AtomicU64,
    pub(crate) watches: AtomicU64,
    pub(crate) failures: AtomicU64,
    last: Mutex<VecDeque<String>>,
}

impl Default for Seen {
    fn default() -> Self {
        let (lists, watches, failures) = Default::default();
        Self { begun: Instant::now(), lists, watches, failures, last: Mutex::default() }
    }
}

impl Seen {
    fn note(&self, what: &str) {
        let mut last = self.last.lock().unwrap();
        if last.len() == SHOWN {
            last.pop_front();
        }
        last.push_back(format!("{:.1} s: {what}", self.begun.elapsed().as_secs_f64()));
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = self.begun.elapsed().as_secs_f64();
        write!(f, "{:?} lists, {:?} watches, {:?} failures", self.lists, self.watches, self.failures)?;
        write!(f, ", and at last\n  ")?;
        for line in &*self.last.lock().unwrap() {
            write!(f, "{line}\n  ")?;
        }
        write!(f, "{now:.1} s: now")
    }
}

/// Notes what a reflector goes through.
pub(crate) struct Witness(pub(crate) Arc<Seen>);

impl Observer for Witness {
    fn failed(&mut self, _: &str, failure: &Failure, next: Next, after: Duration) {
        self.0.failures.fetch_add(1, Ordering::Relaxed);
        let mut causes = vec![failure.to_string()];
        let mut cause = std::error::Error::source(failure);
        while let Some(error) = cause {
            causes.push(error.to_string());
            cause = error.source();
        }
        self.0.note(&format!("{}; {next:?} after {after:?}", causes.join(": ")));
    }

    fn gone(&mut self, _: &str, status: &Status) {
        self.0.note(&format!("gone: {status}"));
    }

    fn skipped(&mut self, reflector: &str, object: &Object, why: &BoxError) {
        panic!("{reflector} has not accepted {}: {why}", object.metadata.key());
    }

    fn stalled(&mut self, _: &str, asked: Duration, last: Option<Duration>) {
        self.0.note(&format!("stalled, asked {asked:?} ago, the last came {last:?} ago"));
    }

    fn list_begins(&mut self) {
        self.0.lists.fetch_add(1, Ordering::Relaxed);
        self.0.note("a list begins");
    }

    fn list_ends(&mut self, took: Duration, items: u64) {
        self.0.note(&format!("a list of {items} ends after {took:?}"));
    }

    fn watch_begins(&mut self) {
        self.0.watches.fetch_add(1, Ordering::Relaxed);
        self.0.note("a watch begins");
    }

    fn watch_ends(&mut self, took: Duration, events: u64, _: bool) {
        self.0.note(&format!("a watch ends after {took:?} and {events} events"));
    }
}
