//! Series: which events of `events.k8s.io/v1` are one (V2).

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use watchkeeper_core::Timestamp;

use super::clock::Moment;
use super::occurrence::{Occurrence, Recorded, Severity, Source, event_name};
use super::recent::Recent;
use super::reference::Reference;

/// How many are remembered. Of one more, the one that was not heard of for the longest time is finished.
const REMEMBERED: usize = 4096;
/// After so long without one more, a series is over.
pub(super) const FINISH: Duration = Duration::from_secs(6 * 60);
/// So often those that go on are written again.
pub(super) const REFRESH: Duration = Duration::from_secs(30 * 60);

/// What makes two events one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SeriesKey {
    severity: Severity,
    action: String,
    reason: String,
    component: String,
    instance: String,
    regarding: Reference,
    related: Option<Reference>,
}

/// An event as `events.k8s.io/v1` has it.
#[derive(Debug, Clone)]
pub(super) struct SeriesEvent {
    pub(super) name: String,
    occurrence: Occurrence,
    regarding: Reference,
    source: std::sync::Arc<Source>,
    at: Timestamp,
    /// How often, and when last, if more than once.
    pub(super) series: Option<(u32, Timestamp)>,
}

/// Something to write.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) key: SeriesKey,
    pub(super) event: SeriesEvent,
    pub(super) why: Purpose,
}

/// Why something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It has happened: tried several times.
    News,
    /// So that it does not expire: tried once.
    Refresh,
    /// The series is over: tried once each time that it is looked at.
    Finish,
}

/// The events that go on.
pub(super) struct Series {
    events: Recent<SeriesKey, Going>,
}

struct Going {
    event: SeriesEvent,
    last: Instant,
    /// The count that was written last, or is about to be.
    told: u32,
}

impl Series {
    pub(super) fn new() -> Self {
        Self { events: Recent::new(REMEMBERED) }
    }

    /// Takes an event in: what is to be written.
    pub(super) fn observe(&mut self, recorded: &Recorded, now: Instant, at: Moment) -> Vec<Write> {
        let event = SeriesEvent::new(recorded);
        let key = event.key();
        let Some(going) = self.events.get_mut(&key) else {
            let write = Write { key: key.clone(), event: event.clone(), why: Purpose::News };
            let forgotten = self.events.put(key, Going { event, last: now, told: 1 });
            let over = forgotten.filter(|(_, going)| going.count() > going.told);
            let over = over.map(|(key, going)| Write { key, event: going.event, why: Purpose::Finish });
            return over.into_iter().chain([write]).collect();
        };
        let count = going.count().saturating_add(1);
        going.event.series = Some((count, at.timestamp()));
        going.last = now;
        if count > 2 {
            return Vec::new(); // the next refresh tells
        }
        going.told = count;
        vec![Write { key, event: going.event.clone(), why: Purpose::News }]
    }

    /// Series that go on, to be written again.
    pub(super) fn refresh(&mut self) -> Vec<Write> {
        self.tell(Purpose::Refresh, |going| going.event.series.is_some())
    }

    /// What the server does not know yet.
    pub(super) fn untold(&mut self) -> Vec<Write> {
        self.tell(Purpose::Refresh, |going| going.count() > going.told)
    }

    /// Series that are over, to be written for the last time. Single events are only forgotten.
    pub(super) fn finish(&mut self, now: Instant) -> Vec<Write> {
        let is_over = move |going: &Going| now - going.last > FINISH;
        let singles =
            self.events.iter_mut().filter(|(_, going)| going.event.series.is_none() && is_over(going));
        let singles: Vec<_> = singles.map(|(key, _)| key.clone()).collect();
        for single in &singles {
            self.events.remove(single);
        }
        self.tell(Purpose::Finish, is_over)
    }

    /// The last word of a series was written: it is forgotten, unless it has gone on meanwhile.
    pub(super) fn finished(&mut self, write: &Write) {
        let goes_on =
            self.events.get_mut(&write.key).is_some_and(|going| going.event.series != write.event.series);
        if !goes_on {
            self.events.remove(&write.key);
        }
    }

    fn tell(&mut self, why: Purpose, which: impl Fn(&Going) -> bool) -> Vec<Write> {
        let told = self.events.iter_mut().filter(|(_, going)| which(going)).map(|(key, going)| {
            going.told = going.count();
            Write { key: key.clone(), event: going.event.clone(), why }
        });
        told.collect()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }
}

impl Going {
    fn count(&self) -> u32 {
        self.event.series.map_or(1, |(count, _)| count)
    }
}

impl SeriesEvent {
    fn new(recorded: &Recorded) -> Self {
        Self {
            name: event_name(&recorded.regarding.name, recorded.at),
            occurrence: recorded.occurrence.clone(),
            regarding: recorded.regarding.clone(),
            source: recorded.source.clone(),
            at: recorded.at.timestamp(),
            series: None,
        }
    }

    fn key(&self) -> SeriesKey {
        SeriesKey {
            severity: self.occurrence.severity,
            action: self.action().to_owned(),
            reason: self.occurrence.reason.clone(),
            component: self.source.component.clone(),
            instance: self.source.instance.clone(),
            regarding: self.regarding.clone(),
            related: self.occurrence.related.clone(),
        }
    }

    /// The server wants one.
    fn action(&self) -> &str {
        let Occurrence { action, reason, .. } = &self.occurrence;
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
            "reason": self.occurrence.reason,
            "regarding": self.regarding.to_json(),
            "note": self.occurrence.message,
            "type": self.occurrence.severity.as_str(),
        });
        if !self.occurrence.annotations.is_empty() {
            event["metadata"]["annotations"] = json!(self.occurrence.annotations);
        }
        if let Some(related) = &self.occurrence.related {
            event["related"] = related.to_json();
        }
        if let Some(series) = self.patch() {
            event["series"] = series["series"].clone();
        }
        event
    }

    /// How often it has happened, if more than once.
    pub(super) fn patch(&self) -> Option<Value> {
        let (count, last) = self.series?;
        Some(json!({"series": {"count": count, "lastObservedTime": last.display_micro().to_string()}}))
    }
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
