//! Correlator: aggregation, deduplication and rate limiting of `v1` events (`events.V2`), as client-go's
//! `EventCorrelator`.
//!
//! - Aggregation: from the tenth distinct message of one reason on, with at most ten minutes between
//!   consecutive ones, events are combined into one with the newest message.
//! - Deduplication: an event that was already written has its count increased.
//! - Rate limiting: per source, object and type, a burst of 25 events passes, then one every five minutes.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use watchkeeper_core::{Timestamp, TokenBucket};

use super::clock::Moment;
use super::core_event::CoreEvent;
use super::event::event_name;
use super::recent::Recent;

/// Capacity of each of the three caches.
const REMEMBERED: usize = 4096;
/// Number of distinct messages of one reason from which events are combined.
const COMBINED: usize = 10;
/// A longer gap between two messages starts the aggregation anew.
const INTERVAL: Duration = Duration::from_secs(600);
const BURST: u32 = 25;
const REFILL: Duration = Duration::from_secs(300);
const PREFIX: &str = "(combined from similar events): ";

/// A function that returns the rate limiting bucket of an event.
pub(super) type SpamKey = dyn Fn(&CoreEvent) -> String + Send + Sync;

pub(super) struct Correlator {
    similar: Recent<String, Similar>,
    counted: Recent<String, Counted>,
    budgets: Recent<String, TokenBucket>,
    spam_key: Box<SpamKey>,
}

/// Recent distinct messages of one reason, oldest first.
struct Similar {
    messages: VecDeque<String>,
    last: Instant,
}

/// The event on the server that further occurrences increase.
struct Counted {
    name: String,
    first: Timestamp,
    count: u32,
}

/// An event to create, or to patch if its count is greater than one.
#[derive(Debug)]
pub(super) struct Correlated {
    /// The key for [`Correlator::written`].
    pub(super) key: String,
    pub(super) event: CoreEvent,
}

impl Correlator {
    pub(super) fn new(spam_key: Option<Box<SpamKey>>) -> Self {
        Self {
            similar: Recent::new(REMEMBERED),
            counted: Recent::new(REMEMBERED),
            budgets: Recent::new(REMEMBERED),
            spam_key: spam_key.unwrap_or_else(|| Box::new(default_spam_key)),
        }
    }

    /// Correlates an event, at the given time by both clocks. Returns `None` if it is over the rate limit.
    pub(super) fn correlate(&mut self, event: CoreEvent, now: Instant, at: Moment) -> Option<Correlated> {
        let (key, event) = self.combine(event, now, at);
        let event = self.count(&key, event);
        (!self.is_spam(&event, now)).then_some(Correlated { key, event })
    }

    /// Records an event's name and count as the server returned them.
    pub(super) fn written(&mut self, key: &str, name: &str, count: u32) {
        if let Some(counted) = self.counted.get_mut(&key.to_owned()) {
            name.clone_into(&mut counted.name);
            counted.count = count;
        }
    }

    /// Returns the event, or its aggregate, with the key under which occurrences are counted.
    fn combine(&mut self, event: CoreEvent, now: Instant, at: Moment) -> (String, CoreEvent) {
        let key = similar_key(&event);
        let known = self.similar.get_mut(&key).filter(|known| now - known.last <= INTERVAL);
        let messages = match known {
            Some(known) => {
                known.last = now;
                &mut known.messages
            }
            None => {
                self.similar.put(key.clone(), Similar { messages: VecDeque::new(), last: now });
                match self.similar.get_mut(&key) {
                    Some(known) => &mut known.messages,
                    None => return (event_key(&event), event), // unreachable: just inserted
                }
            }
        };
        if !messages.contains(&event.message) {
            messages.push_back(event.message.clone());
        }
        if messages.len() < COMBINED {
            return (event_key(&event), event);
        }
        messages.pop_front(); // keeps the list at its capacity
        let combined = CoreEvent {
            name: event_name(&event.involved.name, at),
            annotations: Default::default(),
            message: format!("{PREFIX}{}", event.message),
            sets_reporter: false,
            first: at.timestamp(),
            last: at.timestamp(),
            ..event
        };
        (key, combined)
    }

    /// Adds the event to the count of the occurrences already written.
    fn count(&mut self, key: &str, mut event: CoreEvent) -> CoreEvent {
        let key = key.to_owned();
        if let Some(counted) = self.counted.get_mut(&key) {
            event.name.clone_from(&counted.name);
            event.first = counted.first;
            event.count = counted.count.saturating_add(1);
        }
        let counted = Counted { name: event.name.clone(), first: event.first, count: event.count };
        self.counted.put(key, counted);
        event
    }

    fn is_spam(&mut self, event: &CoreEvent, now: Instant) -> bool {
        let (key, now) = ((self.spam_key)(event), now.into_std());
        if let Some(budget) = self.budgets.get_mut(&key) {
            return !budget.try_take(now);
        }
        let mut budget = TokenBucket::new(REFILL, BURST);
        budget.try_take(now);
        self.budgets.put(key, budget);
        false
    }
}

/// Returns the fields by which events are grouped: source, object and type.
fn group_fields(event: &CoreEvent) -> [&str; 8] {
    let involved = &event.involved;
    [
        &event.component,
        &event.host,
        &involved.kind,
        &involved.namespace,
        &involved.name,
        &involved.uid,
        &involved.api_version,
        event.event_type.as_str(),
    ]
}

fn default_spam_key(event: &CoreEvent) -> String {
    group_fields(event).join("\0")
}

fn similar_key(event: &CoreEvent) -> String {
    format!("{}\0{}", group_fields(event).join("\0"), event.reason)
}

fn event_key(event: &CoreEvent) -> String {
    format!("{}\0{}\0{}", similar_key(event), event.involved.field_path, event.message)
}

#[cfg(test)]
#[path = "correlator_tests.rs"]
mod tests;
