//! Any patch is applied or refused, without a panic.

use proptest::prelude::*;
use serde_json::{Map, Value};
use watchkeeper_apiserver::patch::{self, PatchFormat};
use watchkeeper_wire::schema;

/// Generates JSON with the names that are special in patches.
fn any_json() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "metadata",
        "spec",
        "containers",
        "volumes",
        "finalizers",
        "name",
        "labels",
        "ports",
        "strategy",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/finalizers",
        "$setElementOrder/volumes",
        "$deleteFromPrimitiveList/finalizers",
        "$deleteFromPrimitiveList/containers",
        "$setElementOrder",
        "",
    ]);
    let text =
        prop::sample::select(vec!["a", "b", "delete", "replace", "merge", "name", "add", "move", "/spec/-"]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (0..3i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 5, move |inner| {
        let name = name.clone();
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((name, inner), 0..6).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
            }),
        ]
    })
}

fn any_operation() -> impl Strategy<Value = Value> {
    let op = prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test", "other"]);
    let path = || "(/(metadata|spec|finalizers|name|-|-?[0-9]{1,20}|~0|~1|)){0,4}";
    (op, path(), path(), any_json()).prop_map(|(op, path, from, value)| {
        let mut fields = Map::new();
        for (name, value) in
            [("op", op.into()), ("path", path.into()), ("from", from.into()), ("value", value)]
        {
            fields.insert(name.to_owned(), value);
        }
        Value::Object(fields)
    })
}

proptest! {
    #[test]
    fn a_strategic_merge_patch(document in any_json(), body in any_json()) {
        let schema = schema::builtin();
        for (group, kind) in [("", "Pod"), ("", "ConfigMap"), ("apps", "Deployment")] {
            let message = schema.message(group, "v1", kind).expect("it is built in");
            let _ = patch::strategic(document.clone(), body.clone(), schema, message);
        }
        let _ = patch::faults(PatchFormat::Strategic, body.to_string().as_bytes());
    }

    #[test]
    fn a_merge_patch(document in any_json(), body in any_json()) {
        let _ = patch::merge(document, body.clone());
        let _ = patch::faults(PatchFormat::Merge, body.to_string().as_bytes());
    }

    #[test]
    fn a_json_patch(document in any_json(), operations in prop::collection::vec(any_operation(), 0..6)) {
        let body = Value::Array(operations).to_string();
        let _ = patch::json(document, body.as_bytes());
        let _ = patch::faults(PatchFormat::Json, body.as_bytes());
    }

    #[test]
    fn any_bytes(body in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = patch::json(Value::Object(Map::new()), &body);
        let _ = patch::faults(PatchFormat::Merge, &body);
    }
}
