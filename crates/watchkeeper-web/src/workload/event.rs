//! Events, and when they were last seen.

use serde::Deserialize;
use watchkeeper_core::Timestamp;

/// Something that has happened.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Event {
    /// What, in a sentence.
    pub message: String,
    /// What, in a word.
    pub reason: String,
    metadata: Metadata,
    event_time: Option<String>,
    first_timestamp: Option<String>,
    last_timestamp: Option<String>,
    series: Option<Series>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    creation_timestamp: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Series {
    last_observed_time: Option<String>,
}

impl Event {
    /// When it was last seen: recorders write it into different fields.
    pub fn seen(&self) -> Option<Timestamp> {
        let series = self.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
        let seen =
            [series, self.last_timestamp.as_ref(), self.event_time.as_ref(), self.first_timestamp.as_ref()];
        let newest = seen.into_iter().flatten().filter_map(|time| time.parse().ok()).max();
        newest.or_else(|| self.metadata.creation_timestamp.as_ref()?.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_was_last_seen_when_its_newest_time_says() {
        let seen = |event: serde_json::Value| {
            let event: Event = serde_json::from_value(event).unwrap_or_default();
            event.seen().map(|time| time.to_string())
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
}
