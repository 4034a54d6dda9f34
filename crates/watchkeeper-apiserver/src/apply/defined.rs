//! Defined types: the merge semantics of a custom kind.
//!
//! Input: the schema of each version of a definition.
//! Output: [`types`](super::types), which looks up the type of a field.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::table::Key;
use super::types::{Owners, Plain};

/// The types of a custom kind, by the `apiVersion` of its objects.
#[derive(Debug, Default)]
pub(crate) struct DefinedTypes {
    versions: BTreeMap<String, Defined>,
}

/// A type of a definition.
#[derive(Debug)]
pub(super) enum Defined {
    Scalar(Plain),
    /// Untyped: each part has the type of its value.
    Any,
    /// An object with these fields; `is_open` if it may have others.
    Object {
        fields: BTreeMap<String, Defined>,
        owners: Owners,
        is_open: bool,
        is_resource: bool,
    },
    Map(Box<Defined>, Owners),
    List(Box<Defined>, Kept),
}

/// Identification of list items.
#[derive(Debug)]
pub(super) enum Kept {
    Atomic,
    Set,
    Keyed(Vec<Key>),
}

impl DefinedTypes {
    /// Reads the schemas of all versions.
    pub(crate) fn read<'a>(versions: impl Iterator<Item = (String, &'a Value)>) -> Self {
        Self { versions: versions.map(|(version, schema)| (version, resource(schema))).collect() }
    }

    pub(super) fn of(&self, api_version: &str) -> Option<&Defined> {
        self.versions.get(api_version)
    }
}

fn resource(schema: &Value) -> Defined {
    match defined(schema) {
        Defined::Object { fields, owners, is_open, .. } => {
            Defined::Object { fields, owners, is_open, is_resource: true }
        }
        _ => Defined::Object {
            fields: BTreeMap::new(),
            owners: Owners::Each,
            is_open: true,
            is_resource: true,
        },
    }
}

fn defined(schema: &Value) -> Defined {
    let is = |name: &str| schema[name] == true;
    if is("x-kubernetes-int-or-string") {
        return Defined::Scalar(Plain::Untyped);
    }
    let owners = if schema["x-kubernetes-map-type"] == "atomic" { Owners::One } else { Owners::Each };
    match schema["type"].as_str() {
        Some("string") => Defined::Scalar(Plain::Text),
        Some("integer" | "number") => Defined::Scalar(Plain::Numeric),
        Some("boolean") => Defined::Scalar(Plain::Boolean),
        Some("array") => list(schema),
        Some("object") => object(schema, owners),
        _ => Defined::Any,
    }
}

fn object(schema: &Value, owners: Owners) -> Defined {
    let is_open = schema["x-kubernetes-preserve-unknown-fields"] == true;
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        return Defined::Map(Box::new(defined(values)), owners);
    }
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    if schema["additionalProperties"] == true || (is_open && properties.is_empty()) {
        return match owners {
            Owners::Each => Defined::Any,
            Owners::One => Defined::Map(Box::new(Defined::Any), owners),
        };
    }
    let fields = properties.iter().map(|(name, schema)| (name.clone(), defined(schema))).collect();
    let is_resource = schema["x-kubernetes-embedded-resource"] == true;
    Defined::Object { fields, owners, is_open, is_resource }
}

fn list(schema: &Value) -> Defined {
    let items = &schema["items"];
    let kept = match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => Kept::Set,
        Some("map") => {
            let names = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
            let key = |name: &str| Key {
                name: name.to_owned().into(),
                default: items["properties"][name].get("default").cloned(),
            };
            Kept::Keyed(names.filter_map(Value::as_str).map(key).collect())
        }
        _ => Kept::Atomic,
    };
    Defined::List(Box::new(defined(items)), kept)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::apply::{Applied, ApplyError, FieldSet, Managers, Reset, Subject, Writing};
    use serde_json::json;
    use watchkeeper_core::{GroupVersionKind, Timestamp};

    fn subject() -> Subject {
        let parts =
            json!({"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}});
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                      "items": parts},
            "plain": {"type": "array", "items": {"type": "string"}},
            "one": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }}}});
        let types = DefinedTypes::read([("example.com/v1".to_owned(), &schema)].into_iter());
        let kind = GroupVersionKind::new("example.com", "v1", "Widget");
        Subject::new(kind, None, Reset::But(FieldSet::default())).defined_by(Some(Arc::new(types)))
    }

    fn apply(live: &Value, managers: Managers, manager: &str, spec: &Value) -> Result<Applied, ApplyError> {
        let configuration = json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": spec});
        let by = Writing { manager, now: Timestamp { seconds: 0, nanos: 0 } };
        subject().apply(live, &json!({}), &configuration, managers, false, by)
    }

    #[test]
    fn lists_and_maps_are_merged_by_the_definition() {
        let first = json!({"tags": ["x"], "parts": [{"name": "p", "n": 1}], "plain": ["a"], "open": {"deep": {"k": 1}}});
        let first = apply(&json!({}), Managers::default(), "a", &first).unwrap();
        let second = json!({"tags": ["y"], "parts": [{"name": "q"}], "open": {"deep": {"l": 2}}});
        let second = apply(&first.object, first.managers, "b", &second).unwrap();
        assert_eq!(second.object["spec"]["tags"], json!(["x", "y"]));
        assert_eq!(second.object["spec"]["parts"], json!([{"name": "p", "n": 1}, {"name": "q"}]));
        assert_eq!(second.object["spec"]["open"], json!({"deep": {"k": 1, "l": 2}}));
        let refused = apply(&second.object, second.managers.clone(), "b", &json!({"plain": ["b"]}));
        assert!(matches!(refused, Err(ApplyError::Conflicts(_))), "{refused:?}");
        let given_up = apply(&second.object, second.managers, "a", &json!({"one": {"k": "v"}})).unwrap();
        let expected =
            json!({"tags": ["y"], "parts": [{"name": "q"}], "open": {"deep": {"l": 2}}, "one": {"k": "v"}});
        assert_eq!(given_up.object["spec"], expected);
    }

    #[test]
    fn fields_missing_from_the_definition_are_refused() {
        let Err(ApplyError::Misfits(misfits)) =
            apply(&json!({}), Managers::default(), "a", &json!({"bogus": 1}))
        else {
            panic!("it was accepted")
        };
        assert_eq!(misfits.to_string(), ".spec.bogus: field not declared in schema");
    }
}
