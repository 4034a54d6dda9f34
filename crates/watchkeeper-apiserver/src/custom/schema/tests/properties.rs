//! Properties of all schemas and objects: `schema.S2`, and valid objects stay valid.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::Schema;

const NAMES: [&str; 4] = ["a", "b", "c", "metadata"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..4_i64).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            fields(inner).prop_map(Value::from),
        ]
    })
}

fn fields(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((prop::sample::select(&NAMES[..]), inner), 0..4)
        .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Generates a schema whose defaults are pruned and valid.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string", "maxLength": 1})),
        Just(json!({"type": "string", "default": "a"})),
        Just(json!({"type": "integer", "nullable": true, "minimum": 0, "default": 1})),
        Just(json!({"type": "integer"})),
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
        Just(json!({"x-kubernetes-int-or-string": true})),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (fields(inner.clone()), any::<bool>(), any::<bool>()).prop_map(
                |(properties, keeps, has_default)| {
                    let mut schema = json!({"type": "object", "properties": properties});
                    if keeps {
                        schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
                    }
                    if has_default {
                        schema["default"] = json!({});
                    }
                    schema
                }
            ),
            inner.clone().prop_map(|inner| json!({"type": "object", "additionalProperties": inner})),
            inner.prop_map(|inner| json!({"type": "array", "items": inner})),
        ]
    })
}

proptest! {
    #[test]
    fn pruning_and_giving_defaults_again_changes_nothing(schema in schema(), mut object in value()) {
        let schema = Schema::compile(&json!({"type": "object", "properties": {"a": schema}})).unwrap();
        object = json!({"a": object});
        schema.prune(&mut object);
        let pruned = object.clone();
        prop_assert_eq!(schema.prune(&mut object), Vec::<String>::new());
        prop_assert_eq!(&object, &pruned);
        schema.default(&mut object).unwrap();
        let defaulted = object.clone();
        schema.default(&mut object).unwrap();
        prop_assert_eq!(&object, &defaulted);
        prop_assert_eq!(schema.prune(&mut object), Vec::<String>::new());
        prop_assert_eq!(&object, &defaulted);
    }

    #[test]
    fn a_valid_object_stays_valid_and_an_unchanged_one_too(schema in schema(), object in value()) {
        let schema = Schema::compile(&json!({"type": "object", "properties": {"a": schema}})).unwrap();
        let object = json!({"a": object});
        let mut stored = object.clone();
        schema.prune(&mut stored);
        schema.default(&mut stored).unwrap();
        if schema.validate(&object).is_empty() {
            prop_assert_eq!(schema.validate(&stored), []);
        }
        prop_assert_eq!(schema.validate_update(&stored, &stored), []);
    }
}
