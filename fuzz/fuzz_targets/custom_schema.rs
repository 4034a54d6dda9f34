//! Schemas of custom resources: any JSON is compiled or refused, and checked as a part of a definition; then an
//! object is pruned, completed and validated by it. Nothing panics or goes deeper than the limit, and what is done
//! again changes nothing.
//!
//! Lines: the schema, the object, and what the object was before.

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
        return; // the defaults would add more than a request may have
    }
    let completed = object.clone();
    assert!(schema.default(&mut object).is_ok());
    assert_eq!(object, completed);
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
