//! Events: two groups show one object, under different names of its fields. It is stored as the core group has it.

use crate::registry::Resource;
use serde_json::{Map, Value};

/// What the core group calls a field, and what `events.k8s.io` does.
const NAMES: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

/// Turns what is stored into what this resource shows: a change for events of `events.k8s.io` only.
pub fn show_event(resource: &Resource, fields: &mut Map<String, Value>) {
    if is_view(resource) {
        NAMES.iter().for_each(|(stored, shown)| rename(fields, stored, shown));
    }
}

/// Turns what this resource shows into what is stored.
pub(super) fn store_event(resource: &Resource, fields: &mut Map<String, Value>) {
    if is_view(resource) {
        NAMES.iter().for_each(|(stored, shown)| rename(fields, shown, stored));
    }
}

fn is_view(resource: &Resource) -> bool {
    resource.group == "events.k8s.io" && resource.name == "events"
}

fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
}
