//! A row of `kubectl events`.

use serde_json::Value;
use watchkeeper_core::{Timestamp, elapsed};

use crate::output::TabWriter;

pub(super) fn write_headers(with_namespace: bool, out: &mut TabWriter) {
    out.write(if with_namespace { "NAMESPACE\t" } else { "" });
    out.write("LAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE\n");
}

pub(super) fn write_row(event: &Value, with_namespace: bool, out: &mut TabWriter) {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if with_namespace {
        out.write(text("/metadata/namespace"));
        out.write("\t");
    }
    let cells = [
        interval(event, Timestamp::now()),
        escaped(text("/type")),
        escaped(text("/reason")),
        format!("{}/{}", escaped(text("/involvedObject/kind")), escaped(text("/involvedObject/name"))),
        escaped(text("/message").trim()),
    ];
    out.write(&cells.join("\t"));
    out.write("\n");
}

/// Returns the time an event was last seen; `None` sorts first.
pub(super) fn last_seen(event: &Value) -> Option<Timestamp> {
    match event.get("series").filter(|series| !series.is_null()) {
        Some(series) => moment(series, "lastObservedTime"),
        None => moment(event, "lastTimestamp").or_else(|| moment(event, "eventTime")),
    }
}

/// Formats the age: `5m`, or `5m (x3 over 20m)` if seen more than once.
fn interval(event: &Value, now: Timestamp) -> String {
    let since = |moment: Option<Timestamp>| {
        moment.map_or_else(|| "<unknown>".to_owned(), |moment| elapsed(moment, now))
    };
    let first = since(moment(event, "eventTime").or_else(|| moment(event, "firstTimestamp")));
    let count = |of: &Value| of["count"].as_i64().unwrap_or_default();
    match event.get("series").filter(|series| !series.is_null()) {
        Some(series) => {
            format!("{} (x{} over {first})", since(moment(series, "lastObservedTime")), count(series))
        }
        None if count(event) > 1 => {
            format!("{} (x{} over {first})", since(moment(event, "lastTimestamp")), count(event))
        }
        None => first,
    }
}

fn moment(of: &Value, field: &str) -> Option<Timestamp> {
    let moment = of[field].as_str()?.parse().ok()?;
    (moment != Timestamp::GO_ZERO).then_some(moment)
}

/// Escapes characters that would control the terminal.
fn escaped(text: &str) -> String {
    text.replace('\u{1b}', "^[").replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn repeated_events_show_their_count() {
        let now = "2026-11-15T10:30:00Z".parse().unwrap();
        let formatted = |event: Value| interval(&event, now);
        let (first, last) = ("2026-11-15T10:10:00Z", "2026-11-15T10:18:00Z");
        assert_eq!(formatted(json!({})), "<unknown>");
        assert_eq!(formatted(json!({"firstTimestamp": first, "lastTimestamp": last, "count": 1})), "20m");
        assert_eq!(
            formatted(json!({"firstTimestamp": first, "lastTimestamp": last, "count": 3})),
            "12m (x3 over 20m)"
        );
        let series = json!({"eventTime": "2026-11-15T10:10:00.000000Z", "firstTimestamp": null,
            "series": {"count": 4, "lastObservedTime": "2026-11-15T10:18:00.000000Z"}});
        assert_eq!(formatted(series.clone()), "12m (x4 over 20m)");
        assert_eq!(last_seen(&series), last.parse().ok());
        assert_eq!(last_seen(&json!({"eventTime": "2026-11-15T10:10:00.000000Z"})), first.parse().ok());
    }

    #[test]
    fn control_characters_are_escaped() {
        let mut out = TabWriter::default();
        let event = json!({"type": "a\u{1b}", "reason": "b\r", "message": " c ",
            "involvedObject": {"kind": "Pod", "name": "\u{1b}"}});
        write_row(&event, false, &mut out);
        out.flush();
        assert_eq!(out.take(), "<unknown>   a^[   b\\r   Pod/^[   c\n");
    }
}
