//! Events: one stored object, with different field names in two groups.
//!
//! The store uses the names of the core group. Fields that are not in the table have the same name in both.

use serde_json::Value;

/// The group with the new field names.
pub const EVENTS_GROUP: &str = "events.k8s.io";

/// Field names in the core group and in the new group.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// Renames the fields of an event, or of a patch of one, to those of the core group.
pub fn core_event(value: Value) -> Value {
    renamed(value, |name| NAMES.iter().find(|(_, new)| *new == name).map(|(core, _)| *core))
}

/// Renames the fields of an event to those of `events.k8s.io`.
pub fn new_event(value: Value) -> Value {
    let mut event = renamed(value, |name| NAMES.iter().find(|(core, _)| *core == name).map(|(_, new)| *new));
    // Always present in the core group, but only if set in the new one.
    if let Value::Object(fields) = &mut event {
        fields.retain(|name, value| {
            !matches!(name.as_str(), "reportingController" | "reportingInstance") || *value != ""
        });
    }
    event
}

fn renamed(value: Value, name_of: impl Fn(&str) -> Option<&'static str>) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| match name_of(&name) {
                Some(other) => (other.to_owned(), value),
                None => (name, value),
            });
            Value::Object(fields.collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_round_trips_through_the_other_group() {
        let core = json!({"metadata": {"name": "a"}, "involvedObject": {"kind": "Pod"}, "message": "m",
                          "count": 3, "reason": "r", "series": {"count": 2}});
        let new = new_event(core.clone());
        assert_eq!(new["regarding"]["kind"], "Pod");
        assert_eq!(
            (&new["note"], &new["deprecatedCount"], &new["reason"]),
            (&json!("m"), &json!(3), &json!("r"))
        );
        assert_eq!(new.get("message"), None);
        assert_eq!(core_event(new), core);
    }
}
