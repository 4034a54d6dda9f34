//! Go's field order: `kind` and `apiVersion` first, as in the types of built-in kinds.
//!
//! A [`Value`] is sorted by name, which is the order in which Go writes untyped objects such as custom resources.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value};
use watchkeeper_wire::Kind;

/// Groups without custom resources, whose kinds are not all in the schema.
const TYPED: [&str; 2] = ["meta.k8s.io", "apidiscovery.k8s.io"];

/// Serializes an object in Go's field order, along with the items of a list.
pub(crate) struct GoOrder<'a>(pub(crate) &'a Value);

impl Serialize for GoOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = self.0 else { return self.0.serialize(serializer) };
        if !is_typed(fields) {
            return fields.serialize(serializer);
        }
        let mut written = serializer.serialize_map(Some(fields.len()))?;
        for name in ["kind", "apiVersion"] {
            if let Some(value) = fields.get(name) {
                written.serialize_entry(name, value)?;
            }
        }
        for (name, value) in fields.iter().filter(|(name, _)| !matches!(name.as_str(), "kind" | "apiVersion"))
        {
            match (name.as_str(), value) {
                ("items", Value::Array(items)) => {
                    let items: Vec<GoOrder<'_>> = items.iter().map(GoOrder).collect();
                    written.serialize_entry(name, &items)?;
                }
                _ => written.serialize_entry(name, value)?,
            }
        }
        written.end()
    }
}

/// Returns whether Go has a type for an object.
fn is_typed(fields: &Map<String, Value>) -> bool {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    group.is_empty() || TYPED.contains(&group) || Kind::new(group, version, text("kind")).message().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(value: &Value) -> String {
        serde_json::to_string(&GoOrder(value)).unwrap()
    }

    #[test]
    fn built_in_kinds_begin_with_their_kind_and_custom_ones_are_sorted() {
        let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {}});
        assert_eq!(written(&scale), r#"{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{}}"#);
        let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "data": 1});
        assert_eq!(written(&widget), r#"{"apiVersion":"example.com/v1","data":1,"kind":"Widget"}"#);
        let item = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"});
        let list =
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "items": [item]});
        let expected = r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"}]}"#;
        assert_eq!(written(&list), expected);
    }
}
