//! Schemas of custom resources: any JSON is compiled or rejected, and checked as part of a definition; then an
//! object is pruned, defaulted and validated with it. Nothing panics or exceeds the depth limit, and pruning and
//! defaulting are idempotent.
//!
//! The lines of an input: the schema, the object, and the old object of an update.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use watchkeeper_apiserver::custom::schema::{Schema, check_definition, check_definition_update};

fuzz_target!(|data: &[u8]| {
    let mut lines = data.splitn(3, |byte| *byte == b'\n').map(serde_json::from_slice::<Value>);
    let Some(Ok(schema)) = lines.next() else { return };
    let definition = definition(&schema);
    let causes = check_definition(&definition);
    assert_eq!(check_definition_update(&definition, &definition), causes);
    let Ok(schema) = Schema::compile(&schema) else { return };
    let (Some(Ok(mut object)), old) = (lines.next(), lines.next()) else { return };
    let _ = schema.validate(&object);
    if let Some(Ok(old)) = old {
        let _ = schema.validate_update(&object, &old);
        let _ = schema.validate_status_update(&object, &old);
    }
    schema.prune(&mut object);
    let pruned = object.clone();
    assert_eq!(schema.prune(&mut object), Vec::<String>::new());
    assert_eq!(object, pruned);
    if schema.default(&mut object).is_err() {
        return; // the defaults exceed the size limit
    }
    let defaulted = object.clone();
    assert!(schema.default(&mut object).is_ok());
    assert_eq!(object, defaulted);
    let _ = schema.validate(&object);
});

fn definition(schema: &Value) -> Value {
    json!({
        "metadata": {"name": "as.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster",
            "names": {"plural": "as", "singular": "a", "kind": "A", "listKind": "AList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
        "status": {"storedVersions": ["v1"]},
    })
}
