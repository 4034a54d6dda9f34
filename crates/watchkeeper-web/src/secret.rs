//! Redaction of Secrets: only the sizes of their values are shown.

use serde_json::Value;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::GroupVersionKind;
use watchkeeper_wire::{FieldPath, Kind};

/// Annotations in which kubectl and Rancher store the applied object, including its values.
const APPLIED: [&str; 2] = [LAST_APPLIED, "objectset.rio.cattle.io/applied"];
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns whether a resource is `secrets`.
pub(crate) fn is_secret(mapping: &Mapping) -> bool {
    mapping.resource.group.is_empty() && mapping.resource.resource == "secrets"
}

/// Returns whether a kind is `Secret`.
pub(crate) fn is_secret_kind(kind: &Kind) -> bool {
    is_secret_name(kind.name())
}

fn is_secret_name(kind: &GroupVersionKind) -> bool {
    kind.group.is_empty() && kind.kind == "Secret"
}

/// Returns whether objects of a kind may be selected or sorted by a field. Selecting or sorting Secrets by their values
/// would reveal them.
pub(crate) fn may_compare(kind: &GroupVersionKind, path: &FieldPath) -> bool {
    match path.segments()[..] {
        _ if !is_secret_name(kind) => true,
        ["type"] => true,
        ["metadata", field, ..] => field != "annotations",
        _ => false,
    }
}

/// Replaces a Secret's values by their sizes, and removes annotations that may hold a copy of them.
pub(crate) fn redact(secret: &mut Value) {
    for (field, size) in [("data", decoded as fn(&str) -> usize), ("stringData", str::len)] {
        for value in secret.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten() {
            let bytes = value.1.as_str().map_or(0, size);
            *value.1 = format!("<redacted: {bytes} bytes>").into();
        }
    }
    let annotations = secret.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    for (name, value) in annotations.into_iter().flatten() {
        if APPLIED.contains(&name.as_str()) || is_object(value) {
            *value = "<redacted>".into();
        }
    }
}

/// Returns whether an annotation looks like JSON: other tools store the applied object under other names.
fn is_object(annotation: &Value) -> bool {
    annotation.as_str().is_some_and(|text| text.trim_start().starts_with('{'))
}

/// Returns the decoded size of a base64 string, in bytes.
fn decoded(text: &str) -> usize {
    let digits = text.bytes().filter(|byte| !matches!(byte, b'=' | b'\n' | b'\r')).count();
    digits * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_show_only_the_sizes_of_their_values() {
        let mut secret = json!({
            "metadata": {"name": "s", "annotations": {LAST_APPLIED: "{\"data\":{\"a\":\"aHVudGVyMg==\"}}",
                "kapp.k14s.io/original": "{\"data\":{\"a\":\"aHVudGVyMg==\"}}", "objectset.rio.cattle.io/applied": "H4sI",
                "note": "n"}},
            "data": {"a": "aHVudGVyMg==", "b": "", "c": "YWJj"},
            "stringData": {"d": "hunter2"}, "type": "Opaque",
        });
        redact(&mut secret);
        let expected = json!({
            "metadata": {"name": "s", "annotations": {LAST_APPLIED: "<redacted>", "kapp.k14s.io/original": "<redacted>",
                "objectset.rio.cattle.io/applied": "<redacted>", "note": "n"}},
            "data": {"a": "<redacted: 7 bytes>", "b": "<redacted: 0 bytes>", "c": "<redacted: 3 bytes>"},
            "stringData": {"d": "<redacted: 7 bytes>"}, "type": "Opaque",
        });
        assert_eq!(secret, expected);
    }
}
