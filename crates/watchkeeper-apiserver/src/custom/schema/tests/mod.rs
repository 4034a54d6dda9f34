//! Pruning, defaulting and validation. `oracle/tests/custom_schemas.rs` compares the messages with kube-apiserver's.

mod properties;

use serde_json::{Value, json};

use super::*;

fn schema(spec: &Value) -> Schema {
    Schema::compile(&json!({"type": "object", "properties": {"spec": spec}})).unwrap()
}

fn messages(causes: &[Cause]) -> Vec<String> {
    causes.iter().map(|cause| format!("{} {}: {}", cause.cause, cause.field, cause.message)).collect()
}

fn faults(spec: &Value, value: &Value) -> Vec<String> {
    messages(&schema(spec).validate(&json!({"spec": value})))
}

#[test]
fn unknown_fields_are_dropped_and_their_paths_reported() {
    let schema = schema(&json!({"type": "object", "properties": {
        "a": {"type": "string"},
        "list": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "integer"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"c": {"type": "string"}}}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "closed": {"type": "object", "properties": {"d": {"type": "string"}}},
        }},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
    }}));
    let mut object = json!({
        "apiVersion": "a/v1", "kind": "A", "bogus": 1,
        "metadata": {"name": "n", "bogus": 1, "labels": {"l": "1"}, "ownerReferences": [{"name": "o", "odd": 1}]},
        "spec": {
            "a": "x", "z": 1,
            "list": [{"b": 1}, {"b": 2, "x": {"y": 1}}],
            "map": {"k": {"c": "1", "e": 2}},
            "open": {"free": {"x": 1}, "closed": {"d": "1", "f": 1}},
            "any": [{"x": [1]}],
        },
    });
    let dropped = schema.prune(&mut object);
    let expected = [
        "metadata.bogus",
        "metadata.ownerReferences[0].odd",
        "bogus",
        "spec.list[1].x",
        "spec.map.k.e",
        "spec.open.closed.f",
        "spec.z",
    ];
    assert_eq!(dropped, expected);
    assert_eq!(
        object,
        json!({
            "apiVersion": "a/v1", "kind": "A",
            "metadata": {"name": "n", "labels": {"l": "1"}, "ownerReferences": [{"name": "o"}]},
            "spec": {
                "a": "x",
                "list": [{"b": 1}, {"b": 2}],
                "map": {"k": {"c": "1"}},
                "open": {"free": {"x": 1}, "closed": {"d": "1"}},
                "any": [{"x": [1]}],
            },
        })
    );
}

#[test]
fn an_embedded_object_keeps_its_type_and_its_metadata() {
    let schema = schema(&json!({"type": "object", "properties": {
        "template": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {
            "spec": {"type": "object", "properties": {"a": {"type": "string"}}},
        }},
    }}));
    let mut object = json!({"spec": {"template": {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n", "bogus": 1, "labels": {}}, "spec": {"a": "1"},
        "status": {},
    }}});
    assert_eq!(schema.prune(&mut object), ["spec.template.status", "spec.template.metadata.bogus"]);
    assert_eq!(
        object["spec"]["template"],
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n"}, "spec": {"a": "1"}})
    );
    object["spec"]["template"] = json!({"kind": "not a kind", "metadata": {"labels": {"a b": "c"}}});
    let causes = schema.validate(&object);
    let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
    let expected = ["spec.template.apiVersion", "spec.template.kind", "spec.template.metadata.labels"];
    assert_eq!(fields, expected);
}

#[test]
fn absent_fields_and_forbidden_nulls_become_defaults() {
    let schema = schema(&json!({"type": "object", "default": {}, "properties": {
        "a": {"type": "string", "default": "x"},
        "b": {"type": "string", "nullable": true, "default": "x"},
        "c": {"type": "string"},
        "nested": {"type": "object", "default": {"d": 1}, "properties": {
            "d": {"type": "integer", "default": 2},
            "e": {"type": "integer", "default": 3},
        }},
        "list": {"type": "array", "items": {"type": "object", "properties": {"f": {"type": "integer", "default": 4}}}},
        "map": {"type": "object", "additionalProperties": {"type": "integer", "default": 5}},
    }}));
    let mut empty = json!({});
    schema.default(&mut empty).unwrap();
    assert_eq!(empty, json!({"spec": {"a": "x", "b": "x", "nested": {"d": 1, "e": 3}}}));
    let mut object = json!({"spec": {
        "a": null, "b": null, "c": null, "nested": {"d": null}, "list": [{}, {"f": 9}], "map": {"k": null},
    }});
    schema.default(&mut object).unwrap();
    assert_eq!(
        object,
        json!({"spec": {
            "a": "x", "b": null, "nested": {"d": 2, "e": 3}, "list": [{"f": 4}, {"f": 9}], "map": {"k": 5},
        }})
    );
}

#[test]
fn a_value_of_another_type_is_refused_with_its_type() {
    let spec = json!({"type": "object", "properties": {
        "i": {"type": "integer"}, "s": {"type": "string"}, "d": {"type": "string", "format": "date"},
        "ios": {"x-kubernetes-int-or-string": true}, "l": {"type": "array", "items": {"type": "boolean"}},
    }});
    let value = json!({"i": "x", "s": null, "d": 5, "ios": true, "l": [true, 1]});
    assert_eq!(
        faults(&spec, &value),
        [
            r#"FieldValueTypeInvalid spec.d: Invalid value: "int64": spec.d in body must be of type date: "int64""#,
            r#"FieldValueTypeInvalid spec.i: Invalid value: "string": spec.i in body must be of type integer: "string""#,
            r#"FieldValueTypeInvalid spec.ios: Invalid value: "boolean": spec.ios in body must be of type integer,string: "boolean""#,
            r#"FieldValueTypeInvalid spec.l[1]: Invalid value: "integer": spec.l[1] in body must be of type boolean: "integer""#,
            r#"FieldValueTypeInvalid spec.s: Invalid value: "null": spec.s in body must be of type string: "null""#,
        ]
    );
    assert_eq!(faults(&spec, &json!({"i": 1.0, "s": "", "d": "2026-01-01", "ios": "5"})), [""; 0]);
}

#[test]
fn bounds_are_printed_as_go_prints_them() {
    let spec = json!({"type": "object", "required": ["r"], "maxProperties": 3, "properties": {
        "f": {"type": "number", "minimum": 0.5, "exclusiveMinimum": true},
        "i": {"type": "integer", "maximum": 10, "multipleOf": 2},
        "n": {"type": "integer", "format": "int32"},
        "s": {"type": "string", "maxLength": 2, "pattern": "^a"},
        "e": {"type": "string", "enum": ["a", "b"]},
        "l": {"type": "array", "minItems": 2, "items": {"type": "string"}},
    }});
    let value = json!({"f": 0.5, "i": 11, "n": 3_000_000_000_i64, "s": "abc", "e": "c", "l": []});
    assert_eq!(
        faults(&spec, &value),
        [
            "FieldValueTooMany spec: Too many: 6: must have at most 3 items",
            r#"FieldValueNotSupported spec.e: Unsupported value: "c": supported values: "a", "b""#,
            "FieldValueInvalid spec.f: Invalid value: 0.5: spec.f in body should be greater than 0.5",
            "FieldValueInvalid spec.i: Invalid value: 11: spec.i in body should be a multiple of 2",
            "FieldValueInvalid spec.i: Invalid value: 11: spec.i in body should be less than or equal to 10",
            "FieldValueInvalid spec.l: Invalid value: 0: spec.l in body should have at least 2 items",
            r#"FieldValueInvalid <nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.n"#,
            "FieldValueTooLong spec.s: Too long: may not be more than 2 bytes",
            "FieldValueRequired spec.r: Required value",
        ]
    );
    let pattern = faults(&spec, &json!({"r": 1, "s": "b"}));
    assert_eq!(
        pattern,
        [r#"FieldValueInvalid spec.s: Invalid value: "b": spec.s in body should match '^a'"#]
    );
}

#[test]
fn of_several_alternatives_the_closest_is_reported() {
    let spec = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "oneOf": [
        {"required": ["a"]}, {"required": ["b"], "properties": {"b": {"pattern": "^x"}}},
    ]});
    assert_eq!(
        faults(&spec, &json!({})),
        [
            r#"FieldValueInvalid <nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid"#,
            "FieldValueRequired spec.a: Required value",
        ]
    );
    assert_eq!(
        faults(&spec, &json!({"a": "1", "b": "x"})),
        [
            r#"FieldValueInvalid <nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
        ]
    );
    assert_eq!(faults(&spec, &json!({"b": "x"})), [""; 0]);
    let not = json!({"type": "integer", "not": {"enum": [5]}, "anyOf": [{"minimum": 3}, {"maximum": -3}]});
    assert_eq!(
        faults(&not, &json!(5)),
        [r#"FieldValueInvalid <nil>: Invalid value: "": "spec" must not validate the schema (not)"#,]
    );
    assert_eq!(faults(&not, &json!(0)).len(), 2);
}

#[test]
fn items_of_sets_and_keys_of_maps_are_unique() {
    let spec = json!({"type": "object", "properties": {
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}},
    }});
    let value = json!({"set": ["a", "b", "a", "a"], "map": [{"k": "x"}, {"k": "x", "v": 1}]});
    let refused = [
        r#"FieldValueDuplicate spec.map[1]: Duplicate value: {"k":"x"}"#,
        r#"FieldValueDuplicate spec.set[2]: Duplicate value: "a""#,
    ];
    assert_eq!(faults(&spec, &value), refused);
    let object = json!({"spec": value});
    assert_eq!(schema(&spec).validate_update(&object, &object), []); // unchanged faults are tolerated
}

#[test]
fn unchanged_faults_are_tolerated() {
    let schema = schema(&json!({"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 1},
        "b": {"type": "string", "maxLength": 1},
        "l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "minimum": 5}}}},
    }}));
    let old = json!({"spec": {"a": "long", "l": [{"k": "x", "v": 1}]}});
    let new = json!({"spec": {"a": "long", "b": "long", "l": [{"k": "y", "v": 1}, {"k": "x", "v": 1}]}});
    assert_eq!(
        messages(&schema.validate_update(&new, &old)),
        [
            "FieldValueTooLong spec.b: Too long: may not be more than 1 byte",
            "FieldValueInvalid spec.l[0].v: Invalid value: 1: spec.l[0].v in body should be greater than or equal to 5",
        ]
    );
    assert_eq!(schema.validate_update(&old, &old), []);
    assert_eq!(schema.validate(&old).len(), 2);
}

#[test]
fn a_status_update_validates_the_status_only() {
    let definition = json!({"type": "object", "properties": {
        "spec": {"type": "string", "maxLength": 1},
        "status": {"type": "object", "properties": {"n": {"type": "integer"}}},
    }});
    let schema = Schema::compile(&definition).unwrap();
    let object = json!({"spec": "long", "status": {"n": "x"}});
    assert_eq!(
        messages(&schema.validate_status_update(&object, &json!({}))),
        [
            r#"FieldValueTypeInvalid status.n: Invalid value: "string": n in body must be of type integer: "string""#,
        ]
    );
}

#[test]
fn schemas_nested_too_deep_are_refused() {
    let mut deep = json!({"type": "string"});
    for _ in 0..MAX_SCHEMA_DEPTH {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    assert!(Schema::compile(&deep).is_err());
    assert!(Schema::compile(&deep["properties"]["a"]).is_ok());
}

#[test]
fn skipped_cel_rules_are_reported_where_kube_apiserver_reports_them() {
    let schema = schema(&json!({"type": "object", "properties": {
        "a": {"type": "integer", "maximum": 3, "x-kubernetes-validations": [{"rule": "self > 1"}]},
    }}));
    assert_eq!(schema.validate(&json!({"spec": {"a": 0}})), []);
    assert_eq!(schema.validate(&json!({"spec": {"a": 5}})).len(), 1);
    let reported = messages(&schema.validate(&json!({"spec": {"a": "x"}})));
    assert_eq!(
        reported[1],
        "FieldValueInvalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
    );
}
