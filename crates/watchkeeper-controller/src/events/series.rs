//! Series: deduplication of `events.k8s.io/v1` events (`events.V2`).

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use watchkeeper_core::Timestamp;

use super::clock::Moment;
use super::event::{Event, EventType, Recorded, Source, event_name};
use super::recent::Recent;
use super::reference::Reference;

/// Capacity. When it is exceeded, the least recently observed series is finished.
const REMEMBERED: usize = 4096;
/// A series is over after this long without an occurrence.
pub(super) const FINISH: Duration = Duration::from_secs(6 * 60);
/// Interval at which active series are written again.
pub(super) const REFRESH: Duration = Duration::from_secs(30 * 60);

/// The fields that are equal in all events of one series.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SeriesKey {
    event_type: EventType,
    action: String,
    reason: String,
    component: String,
    instance: String,
    regarding: Reference,
    related: Option<Reference>,
}

/// An `events.k8s.io/v1` event.
#[derive(Debug, Clone)]
pub(super) struct SeriesEvent {
    pub(super) name: String,
    event: Event,
    regarding: Reference,
    source: std::sync::Arc<Source>,
    at: Timestamp,
    /// Number of occurrences and time of the last one, if there was more than one.
    pub(super) series: Option<(u32, Timestamp)>,
}

/// An event to create or patch.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) key: SeriesKey,
    pub(super) event: SeriesEvent,
    pub(super) why: Purpose,
}

/// Why an event is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It is new, or the start of a series: retried.
    New,
    /// Keeps an active series from expiring: one attempt.
    Refresh,
    /// The series is over: one attempt each time the series are checked.
    Finish,
}

/// The active series.
pub(super) struct Series {
    events: Recent<SeriesKey, Active>,
}

struct Active {
    event: SeriesEvent,
    last: Instant,
    /// The count last handed out for writing.
    written: u32,
}

impl Series {
    pub(super) fn new() -> Self {
        Self { events: Recent::new(REMEMBERED) }
    }

    /// Records an event, and returns what to write.
    pub(super) fn observe(&mut self, recorded: &Recorded, now: Instant, at: Moment) -> Vec<Write> {
        let event = SeriesEvent::new(recorded);
        let key = event.key();
        let Some(active) = self.events.get_mut(&key) else {
            let write = Write { key: key.clone(), event: event.clone(), why: Purpose::New };
            let forgotten = self.events.put(key, Active { event, last: now, written: 1 });
            let over = forgotten.filter(|(_, active)| active.count() > active.written);
            let over = over.map(|(key, active)| Write { key, event: active.event, why: Purpose::Finish });
            return over.into_iter().chain([write]).collect();
        };
        let count = active.count().saturating_add(1);
        active.event.series = Some((count, at.timestamp()));
        active.last = now;
        if count > 2 {
            return Vec::new(); // written by the next refresh
        }
        active.written = count;
        vec![Write { key, event: active.event.clone(), why: Purpose::New }]
    }

    /// Returns all active series, to be written again.
    pub(super) fn refresh(&mut self) -> Vec<Write> {
        self.select(Purpose::Refresh, |active| active.event.series.is_some())
    }

    /// Returns the series with occurrences that were not handed out for writing.
    pub(super) fn unwritten(&mut self) -> Vec<Write> {
        self.select(Purpose::Refresh, |active| active.count() > active.written)
    }

    /// Returns the series that are over, to be written for the last time, and forgets single events.
    pub(super) fn finish(&mut self, now: Instant) -> Vec<Write> {
        let is_over = move |active: &Active| now - active.last > FINISH;
        let singles =
            self.events.iter_mut().filter(|(_, active)| active.event.series.is_none() && is_over(active));
        let singles: Vec<_> = singles.map(|(key, _)| key.clone()).collect();
        for single in &singles {
            self.events.remove(single);
        }
        self.select(Purpose::Finish, is_over)
    }

    /// Forgets a series after its last write, unless it has continued meanwhile.
    pub(super) fn finished(&mut self, write: &Write) {
        let has_continued =
            self.events.get_mut(&write.key).is_some_and(|active| active.event.series != write.event.series);
        if !has_continued {
            self.events.remove(&write.key);
        }
    }

    fn select(&mut self, why: Purpose, filter: impl Fn(&Active) -> bool) -> Vec<Write> {
        let writes = self.events.iter_mut().filter(|(_, active)| filter(active)).map(|(key, active)| {
            active.written = active.count();
            Write { key: key.clone(), event: active.event.clone(), why }
        });
        writes.collect()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }
}

impl Active {
    fn count(&self) -> u32 {
        self.event.series.map_or(1, |(count, _)| count)
    }
}

impl SeriesEvent {
    fn new(recorded: &Recorded) -> Self {
        Self {
            name: event_name(&recorded.regarding.name, recorded.at),
            event: recorded.event.clone(),
            regarding: recorded.regarding.clone(),
            source: recorded.source.clone(),
            at: recorded.at.timestamp(),
            series: None,
        }
    }

    fn key(&self) -> SeriesKey {
        SeriesKey {
            event_type: self.event.event_type,
            action: self.action().to_owned(),
            reason: self.event.reason.clone(),
            component: self.source.component.clone(),
            instance: self.source.instance.clone(),
            regarding: self.regarding.clone(),
            related: self.event.related.clone(),
        }
    }

    /// Returns the action, or the reason if it is not set: the server requires one.
    fn action(&self) -> &str {
        let Event { action, reason, .. } = &self.event;
        if action.is_empty() { reason } else { action }
    }

    pub(super) fn namespace(&self) -> &str {
        self.regarding.event_namespace()
    }

    pub(super) fn to_json(&self) -> Value {
        let mut event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": self.name, "namespace": self.namespace()},
            "eventTime": self.at.display_micro().to_string(),
            "reportingController": self.source.component,
            "reportingInstance": self.source.instance,
            "action": self.action(),
            "reason": self.event.reason,
            "regarding": self.regarding.to_json(),
            "note": self.event.message,
            "type": self.event.event_type.as_str(),
        });
        if !self.event.annotations.is_empty() {
            event["metadata"]["annotations"] = json!(self.event.annotations);
        }
        if let Some(related) = &self.event.related {
            event["related"] = related.to_json();
        }
        if let Some(series) = self.patch() {
            event["series"] = series["series"].clone();
        }
        event
    }

    /// Returns the patch that updates the series, if there was more than one event.
    pub(super) fn patch(&self) -> Option<Value> {
        let (count, last) = self.series?;
        Some(json!({"series": {"count": count, "lastObservedTime": last.display_micro().to_string()}}))
    }
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
