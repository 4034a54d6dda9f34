//! Events of objects, and when they were last seen.

use serde::{Deserialize, Serialize};
use watchkeeper_core::Timestamp;

/// A Kubernetes event.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Event {
    /// Description for humans.
    pub message: String,
    /// Short, machine-readable reason.
    pub reason: String,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub event_type: String,
    /// The object the event is about.
    pub involved_object: ObjectReference,
    metadata: Metadata,
    event_time: Option<String>,
    first_timestamp: Option<String>,
    last_timestamp: Option<String>,
    count: Option<i64>,
    series: Option<Series>,
    source: Source,
    reporting_component: String,
}

/// The object an event is about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObjectReference {
    /// Kind.
    pub kind: String,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    namespace: String,
    name: String,
    creation_timestamp: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Series {
    count: Option<i64>,
    last_observed_time: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Source {
    component: String,
    host: String,
}

/// An event in the format of the HTTP API.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventView {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub event_type: String,
    /// Short, machine-readable reason.
    pub reason: String,
    /// Description for humans.
    pub message: String,
    /// Number of occurrences.
    pub count: i64,
    /// Time of the first occurrence, in RFC 3339.
    pub first: Option<String>,
    /// Time of the last occurrence, in RFC 3339.
    pub last: Option<String>,
    /// Reporting component and host: `kubelet, node-1`.
    pub source: String,
    /// The object the event is about.
    pub about: ObjectReference,
}

impl Event {
    /// Returns the time of the last occurrence, from whichever field the recorder used.
    pub fn last_seen(&self) -> Option<Timestamp> {
        let series = self.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
        let seen =
            [series, self.last_timestamp.as_ref(), self.event_time.as_ref(), self.first_timestamp.as_ref()];
        let newest = seen.into_iter().flatten().filter_map(|time| time.parse().ok()).max();
        newest.or_else(|| self.metadata.creation_timestamp.as_ref()?.parse().ok())
    }

    /// Returns the time of the first occurrence.
    pub fn first_seen(&self) -> Option<Timestamp> {
        let seen = [&self.first_timestamp, &self.event_time, &self.metadata.creation_timestamp];
        seen.into_iter().flatten().find_map(|time| time.parse().ok())
    }

    /// Returns the number of occurrences; 1 if the recorder did not count.
    pub fn count(&self) -> i64 {
        let series = self.series.as_ref().and_then(|series| series.count);
        series.or(self.count).filter(|count| *count > 0).unwrap_or(1)
    }

    /// Converts the event to the format of the HTTP API.
    pub fn into_view(self) -> EventView {
        let (first, last, count) = (self.first_seen(), self.last_seen(), self.count());
        let reporter = [self.source.component, self.reporting_component];
        let reporter = reporter.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        let source = match self.source.host.as_str() {
            "" => reporter,
            host => format!("{reporter}, {host}"),
        };
        let text = |time: Option<Timestamp>| time.map(|time| time.to_string());
        EventView {
            namespace: self.metadata.namespace,
            name: self.metadata.name,
            event_type: self.event_type,
            reason: self.reason,
            message: self.message,
            count,
            first: text(first),
            last: text(last),
            source,
            about: self.involved_object,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn last_seen_is_the_newest_time_of_an_event() {
        let seen = |event: serde_json::Value| {
            let event: Event = serde_json::from_value(event).unwrap_or_default();
            event.last_seen().map(|time| time.to_string())
        };
        let (old, new) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        assert_eq!(seen(json!({})), None);
        assert_eq!(seen(json!({"metadata": {"creationTimestamp": old}})).as_deref(), Some(old));
        assert_eq!(seen(json!({"firstTimestamp": old, "lastTimestamp": new})).as_deref(), Some(new));
        let series = json!({"eventTime": "2026-01-01T00:00:00.000000Z", "series": {"lastObservedTime": "2026-01-02T00:00:00.000000Z"}});
        assert_eq!(seen(series).as_deref(), Some(new));
        assert_eq!(
            seen(json!({"lastTimestamp": null, "eventTime": "2026-01-02T00:00:00.000000Z"})).as_deref(),
            Some(new)
        );
    }
    #[test]
    fn old_and_new_event_formats_give_the_same_result() {
        let about = json!({"kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "u"});
        let old = json!({"metadata": {"namespace": "shop", "name": "e"}, "type": "Warning", "reason": "BackOff",
            "message": "m", "involvedObject": about, "count": 3, "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-02T00:00:00Z", "source": {"component": "kubelet", "host": "n1"}});
        let new = json!({"metadata": {"namespace": "shop", "name": "e"}, "type": "Warning", "reason": "BackOff",
            "message": "m", "involvedObject": about, "firstTimestamp": null, "eventTime": "2026-01-01T00:00:00.000000Z",
            "series": {"count": 3, "lastObservedTime": "2026-01-02T00:00:00.000000Z"},
            "reportingComponent": "kubelet", "source": {"host": "n1"}});
        let view =
            |event: serde_json::Value| serde_json::from_value::<Event>(event).map(Event::into_view).ok();
        let first = view(old);
        assert_eq!(first, view(new));
        let expected = json!({"namespace": "shop", "name": "e", "type": "Warning", "reason": "BackOff", "message": "m",
            "count": 3, "first": "2026-01-01T00:00:00Z", "last": "2026-01-02T00:00:00Z", "source": "kubelet, n1",
            "about": about});
        assert_eq!(serde_json::to_value(first).ok(), Some(expected));
        assert_eq!(Event::default().count(), 1, "uncounted events occurred once");
    }
}
