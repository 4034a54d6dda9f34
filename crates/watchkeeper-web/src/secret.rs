//! Secrets: what may be shown of them, which is how large they are.

use serde_json::Value;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::GroupVersionKind;
use watchkeeper_wire::{FieldPath, Kind};

/// Where kubectl keeps what was applied, with everything that is secret in it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether objects of this resource are Secrets.
pub(crate) fn is_secret(mapping: &Mapping) -> bool {
    mapping.resource.group.is_empty() && mapping.resource.resource == "secrets"
}

/// Whether objects of this kind are Secrets.
pub(crate) fn is_secret_kind(kind: &Kind) -> bool {
    is_secret_name(kind.name())
}

fn is_secret_name(kind: &GroupVersionKind) -> bool {
    kind.group.is_empty() && kind.kind == "Secret"
}

/// Whether objects of a kind may be selected or sorted by a field. Who could select Secrets by what is in them, or see
/// them in its order, could find it out.
pub(crate) fn may_compare(kind: &GroupVersionKind, path: &FieldPath) -> bool {
    match path.segments()[..] {
        _ if !is_secret_name(kind) => true,
        ["type"] => true,
        ["metadata", field, ..] => field != "annotations",
        _ => false,
    }
}

/// Puts the sizes of a Secret's values in their place.
pub(crate) fn redact(secret: &mut Value) {
    for (field, size) in [("data", decoded as fn(&str) -> usize), ("stringData", str::len)] {
        for value in secret.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten() {
            let bytes = value.1.as_str().map_or(0, size);
            *value.1 = format!("<redacted: {bytes} bytes>").into();
        }
    }
    let annotations = secret.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    if let Some(applied) = annotations.and_then(|all| all.get_mut(LAST_APPLIED)) {
        *applied = "<redacted>".into();
    }
}

/// How many bytes a text in base64 stands for.
fn decoded(text: &str) -> usize {
    let digits = text.bytes().filter(|byte| !matches!(byte, b'=' | b'\n' | b'\r')).count();
    digits * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_a_secret_only_the_sizes_are_shown() {
        let mut secret = json!({
            "metadata": {"name": "s", "annotations": {LAST_APPLIED: "{\"data\":{\"a\":\"aHVudGVyMg==\"}}", "note": "n"}},
            "data": {"a": "aHVudGVyMg==", "b": "", "c": "YWJj"},
            "stringData": {"d": "hunter2"}, "type": "Opaque",
        });
        redact(&mut secret);
        let expected = json!({
            "metadata": {"name": "s", "annotations": {LAST_APPLIED: "<redacted>", "note": "n"}},
            "data": {"a": "<redacted: 7 bytes>", "b": "<redacted: 0 bytes>", "c": "<redacted: 3 bytes>"},
            "stringData": {"d": "<redacted: 7 bytes>"}, "type": "Opaque",
        });
        assert_eq!(secret, expected);
    }
}
