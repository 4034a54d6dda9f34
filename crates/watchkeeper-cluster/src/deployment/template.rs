//! Pod templates: equality, and a hash.

use std::fmt::Write as _;

use serde_json::Value;

/// Label with the hash of the template.
pub(super) const HASH: &str = "pod-template-hash";

/// Alphanumerics without vowels and lookalikes, as in Kubernetes' `SafeEncodeString`.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Returns whether two templates are equal apart from the hash label.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    canonical(one) == canonical(other)
}

/// Returns the hash of a template. The collision count changes it.
pub(super) fn hash(template: &Value, collisions: Option<i32>) -> String {
    let mut bytes = canonical(template).into_bytes();
    if let Some(collisions) = collisions {
        bytes.extend_from_slice(&collisions.to_le_bytes());
    }
    // As kube-controller-manager does, though over its own serialization of the template.
    let digits = fnv(&bytes).to_string();
    digits.bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()])).collect()
}

/// 32-bit FNV-1a.
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Returns a canonical text: fields sorted by name, empty ones omitted.
fn canonical(template: &Value) -> String {
    let mut text = String::new();
    write(&mut text, template, 0);
    text
}

fn write(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (name, value) in fields {
                let is_hash = depth == 2 && name == HASH;
                let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
                if !is_hash && !is_empty {
                    let _ = write!(text, "{name:?}:");
                    write(text, value, depth + 1);
                    text.push(',');
                }
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write(text, item, depth + 1);
                text.push(',');
            }
            text.push(']');
        }
        plain => {
            let _ = write!(text, "{plain}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn template(labels: &Value, image: &str) -> Value {
        json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": image}]}})
    }

    #[test]
    fn the_hash_label_and_empty_fields_do_not_matter_for_equality() {
        let plain = template(&json!({"app": "web"}), "web:1");
        let mut hashed = template(&json!({HASH: "abc", "app": "web"}), "web:1");
        hashed["metadata"]["creationTimestamp"] = Value::Null;
        hashed["spec"]["volumes"] = json!([]);
        assert!(is_same(&plain, &hashed));
        assert_eq!(hash(&plain, None), hash(&hashed, None));
        assert!(!is_same(&plain, &template(&json!({"app": "web"}), "web:2")));
        assert!(!is_same(&plain, &template(&json!({"app": "web", "x": "y"}), "web:1")));
        let mut given = plain.clone();
        given["spec"]["securityContext"] = json!({});
        assert!(!is_same(&plain, &given), "an empty object is not an absent one");
    }

    #[test]
    fn a_hash_is_a_valid_label_and_changes_with_every_collision() {
        let template = template(&json!({"app": "web"}), "web:1");
        let all: Vec<String> = [None, Some(1), Some(2)].map(|count| hash(&template, count)).into();
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2], "{all:?}");
        for hash in &all {
            assert!(hash.len() <= 10 && hash.bytes().all(|byte| ALPHABET.contains(&byte)), "{hash}");
        }
        assert_eq!(fnv(b"foobar"), 0xbf9c_f968);
    }
}
