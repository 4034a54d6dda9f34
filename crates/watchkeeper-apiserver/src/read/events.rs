//! Events: one stored object, with different field names in two groups. The store uses the names of the core group.

use serde_json::Value;

use crate::rules::events::NAMES;

/// The group with the new field names.
pub const EVENTS_GROUP: &str = "events.k8s.io";

/// Renames the fields of an event, or of a merge patch of one, to those of the core group.
pub fn core_event(value: Value) -> Value {
    renamed(value, core_name)
}

/// Renames the fields in the paths of a JSON patch of an event to those of the core group.
pub(crate) fn core_json_patch(mut patch: Value) -> Value {
    for operation in patch.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        for name in ["path", "from"] {
            if let Some(Value::String(pointer)) = operation.get_mut(name) {
                *pointer = core_pointer(pointer);
            }
        }
        // An empty path is the whole event.
        if operation.get("path").is_some_and(|path| path == "")
            && let Some(value) = operation.get_mut("value")
        {
            *value = core_event(value.take());
        }
    }
    patch
}

fn core_pointer(pointer: &str) -> String {
    let Some(path) = pointer.strip_prefix('/') else { return pointer.to_owned() };
    let (first, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
    format!("/{}{rest}", core_name(first).unwrap_or(first))
}

/// Returns the name of a field in the core group, if it differs.
fn core_name(name: &str) -> Option<&'static str> {
    NAMES.iter().find(|(_, new)| *new == name).map(|(core, _)| *core)
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

    #[test]
    fn a_json_patch_is_renamed_in_its_paths_only() {
        let patch = json!([
            {"op": "replace", "path": "/note", "value": {"note": 1}},
            {"op": "move", "from": "/regarding/name", "path": "/metadata/note"},
            {"op": "add", "path": "", "value": {"note": "n", "reason": "r"}},
            {"op": "test", "path": "note"},
            7,
        ]);
        let expected = json!([
            {"op": "replace", "path": "/message", "value": {"note": 1}},
            {"op": "move", "from": "/involvedObject/name", "path": "/metadata/note"},
            {"op": "add", "path": "", "value": {"message": "n", "reason": "r"}},
            {"op": "test", "path": "note"},
            7,
        ]);
        assert_eq!(core_json_patch(patch), expected);
    }
}
