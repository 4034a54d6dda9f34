//! The correlator: which events of `v1` are one, and which are too many (V2).
//!
//! - Combining: ten messages of one reason, of which no two follow each other by more than ten minutes, become one
//!   event, with the newest message.
//! - Counting: what was written already is counted, not written again.
//! - Sparing: of one source and object, 25 events of a type are let through, and one more every five minutes.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use watchkeeper_core::Timestamp;
use watchkeeper_workqueue::limit::Bucket;

use super::clock::Moment;
use super::core_event::CoreEvent;
use super::occurrence::event_name;
use super::recent::Recent;

/// How much each of the three remembers.
const REMEMBERED: usize = 4096;
/// So many messages of one reason are combined.
const COMBINED: usize = 10;
/// After so long without one, the next is a first one again.
const INTERVAL: Duration = Duration::from_secs(600);
const BURST: u32 = 25;
const REFILL: Duration = Duration::from_secs(300);
const PREFIX: &str = "(combined from similar events): ";

/// Whose budget an event counts against.
pub(super) type SpamKey = dyn Fn(&CoreEvent) -> String + Send + Sync;

pub(super) struct Correlator {
    similar: Recent<String, Similar>,
    counted: Recent<String, Counted>,
    budgets: Recent<String, Bucket>,
    spam_key: Box<SpamKey>,
}

/// Messages of one reason, oldest first.
struct Similar {
    messages: VecDeque<String>,
    last: Instant,
}

/// What was written.
struct Counted {
    name: String,
    first: Timestamp,
    count: u32,
}

/// An event that is to be written, or its count if that is more than one.
#[derive(Debug)]
pub(super) struct Correlated {
    /// For [`Correlator::written`].
    pub(super) key: String,
    pub(super) event: CoreEvent,
}

impl Correlator {
    pub(super) fn new(spam_key: Option<Box<SpamKey>>) -> Self {
        Self {
            similar: Recent::new(REMEMBERED),
            counted: Recent::new(REMEMBERED),
            budgets: Recent::new(REMEMBERED),
            spam_key: spam_key.unwrap_or_else(|| Box::new(spam_key_of)),
        }
    }

    /// Takes an event in, at a moment by both clocks. `None` if it is one too many.
    pub(super) fn correlate(&mut self, event: CoreEvent, now: Instant, at: Moment) -> Option<Correlated> {
        let (key, event) = self.combine(event, now, at);
        let event = self.count(&key, event);
        (!self.is_spam(&event, now)).then_some(Correlated { key, event })
    }

    /// An event was written, and this is how the server has it.
    pub(super) fn written(&mut self, key: &str, name: &str, count: u32) {
        if let Some(counted) = self.counted.get_mut(&key.to_owned()) {
            name.clone_into(&mut counted.name);
            counted.count = count;
        }
    }

    /// The event, or what it is combined to, and what that counts as.
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
                    None => return (event_key(&event), event), // cannot be: it was put there
                }
            }
        };
        if !messages.contains(&event.message) {
            messages.push_back(event.message.clone());
        }
        if messages.len() < COMBINED {
            return (event_key(&event), event);
        }
        messages.pop_front(); // it does not grow any more
        let combined = CoreEvent {
            name: event_name(&event.involved.name, at),
            annotations: Default::default(),
            message: format!("{PREFIX}{}", event.message),
            says_reporter: false,
            first: at.timestamp(),
            last: at.timestamp(),
            ..event
        };
        (key, combined)
    }

    /// The event, as one more of what was written already.
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
        let key = (self.spam_key)(event);
        if let Some(budget) = self.budgets.get_mut(&key) {
            return !budget.try_take(now);
        }
        let mut budget = Bucket::new(REFILL, BURST);
        budget.try_take(now);
        self.budgets.put(key, budget);
        false
    }
}

/// Who says it of which object, and how urgently.
fn about(event: &CoreEvent) -> [&str; 8] {
    let involved = &event.involved;
    [
        &event.component,
        &event.host,
        &involved.kind,
        &involved.namespace,
        &involved.name,
        &involved.uid,
        &involved.api_version,
        event.severity.as_str(),
    ]
}

fn spam_key_of(event: &CoreEvent) -> String {
    about(event).join("\0")
}

fn similar_key(event: &CoreEvent) -> String {
    format!("{}\0{}", about(event).join("\0"), event.reason)
}

fn event_key(event: &CoreEvent) -> String {
    format!("{}\0{}\0{}", similar_key(event), event.involved.field_path, event.message)
}

#[cfg(test)]
#[path = "correlator_tests.rs"]
mod tests;
