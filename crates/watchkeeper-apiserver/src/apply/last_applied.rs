//! Last applied: the annotation of kubectl's client-side apply.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::go_json;
use super::field_set::FieldSet;
use super::typed::{check, compare, fields_of};
use super::types::Type;

/// The manager of client-side apply. It keeps its fields when it changes to server-side apply.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The maximum size of all annotations of an object.
const ANNOTATIONS_BYTES: usize = 256 << 10;

/// Returns the last-applied fields that are unchanged in the live object; `None` without a readable annotation.
pub(super) fn unchanged_fields(live: &Value, api_version: &str, of: Type<'_>) -> Option<FieldSet> {
    let text = live["metadata"]["annotations"][ANNOTATION].as_str()?;
    let applied: Value = serde_json::from_str(text).ok().filter(Value::is_object)?;
    if applied["apiVersion"] != api_version {
        return None;
    }
    check(&applied, of).ok()?;
    let compared = compare(&applied, live, of);
    let changed = compared.modified.union(&compared.added).union(&compared.removed);
    Some(fields_of(&applied, of).difference(&changed))
}

/// Updates the annotation when kubectl applies an object that has it.
pub(crate) fn renew(object: &mut Value, manager: &str, configuration: &Value) {
    let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") else { return };
    let is_there = annotations.get(ANNOTATION).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    if manager != MANAGER || !is_there {
        return;
    }
    let mut applied = configuration.clone();
    if let Some(Value::Object(annotations)) = applied.pointer_mut("/metadata/annotations") {
        annotations.remove(ANNOTATION);
    }
    annotations.insert(ANNOTATION.to_owned(), (go_json(&sorted(applied)) + "\n").into());
    if size(annotations) > ANNOTATIONS_BYTES {
        annotations.remove(ANNOTATION);
    }
}

/// Returns the value with its fields sorted by name.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> = fields.into_iter().collect();
            fields.into_iter().map(|(name, value)| (name, sorted(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

fn size(annotations: &Map<String, Value>) -> usize {
    annotations.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum()
}
