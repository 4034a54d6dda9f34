//! Decoding of unusual and malformed objects.

use serde_json::{Value, json};
use watchkeeper_core::Encoded;
use watchkeeper_kinds::api::apiextensions::v1::{CustomResourceDefinition, JSONSchemaProps};
use watchkeeper_kinds::api::coordination::v1::Lease;
use watchkeeper_kinds::api::core::v1::{ConfigMap, Container, Pod, Secret};
use watchkeeper_kinds::{IntOrString, OrArray, OrBool, OrStrings, Time};
use watchkeeper_wire::transcode;
use watchkeeper_wire::typed::{Message, from_json, from_protobuf, to_json, to_protobuf};
use watchkeeper_wire::{Kind, MESSAGE_DEPTH, Problem};

use crate::untyped;

fn read<T: Message>(object: &Value) -> T {
    from_json(object.to_string().as_bytes()).unwrap()
}

/// Returns the error of a JSON object.
fn refused<T: Message>(json: &str) -> String {
    from_json::<T>(json.as_bytes()).unwrap_err().to_string()
}

/// `typed.M3`
#[test]
fn unknown_fields_are_skipped() {
    let pod: Pod = read(&json!({
        "apiVersion": "v1",
        "new": {"a": [1, {"b": null}], "c": "\\"},
        "metadata": {"name": "a", "clusterName": "x"},
        "spec": {"nodeName": "n", "gates": [true]},
    }));
    let expected = Pod::new("a", "").with_spec(read::<Pod>(&json!({"spec": {"nodeName": "n"}})).spec);
    assert_eq!(pod, expected);

    let mut message = to_protobuf(&pod);
    message.extend(b"\xf8\x07\x01\xfa\x07\x03abc"); // field 127: a number and bytes
    assert_eq!(from_protobuf::<Pod>(&message).unwrap(), pod);
}

#[test]
fn a_null_field_is_not_set() {
    let pod: Pod = read(&json!({
        "metadata": {"name": null, "labels": null, "creationTimestamp": null},
        "spec": {"containers": null, "priority": null, "securityContext": null, "hostNetwork": null},
        "status": null,
    }));
    assert_eq!(pod, Pod::default());
    let map: ConfigMap = read(&json!({"data": {"a": null}}));
    assert_eq!(map.data["a"], "");
    let pod: Pod = read(&json!({"spec": {"containers": [null, {"name": "web"}]}}));
    let containers = [Container::default(), Container::default().with_name("web")];
    assert_eq!(pod.spec.containers, containers);
}

#[test]
fn a_zero_that_is_set_is_kept() {
    let pod: Pod =
        read(&json!({"spec": {"priority": 0, "terminationGracePeriodSeconds": 0, "securityContext": {}}}));
    assert_eq!((pod.spec.priority, pod.spec.termination_grace_period_seconds), (Some(0), Some(0)));
    assert!(pod.spec.security_context.is_some());
    assert_eq!(from_protobuf::<Pod>(&to_protobuf(&pod)).unwrap(), pod);
    assert_eq!(read::<Pod>(&untyped(&pod)), pod);
}

#[test]
fn a_field_or_key_that_occurs_twice_is_an_error() {
    let twice = refused::<Pod>(r#"{"spec":{"nodeName":"a","nodeName":"a"}}"#);
    assert!(twice.ends_with(r#": duplicate key "nodeName""#), "{twice}");
    let twice = refused::<Pod>(r#"{"spec":null,"spec":{}}"#);
    assert!(twice.ends_with(r#": duplicate key "spec""#), "{twice}");
    for data in [r#"{"b":"1","b":"2"}"#, r#"{"b":"1","c":"3","b":"2"}"#] {
        let twice = refused::<ConfigMap>(&format!(r#"{{"data":{data}}}"#));
        assert!(twice.ends_with(r#": duplicate key "b""#), "{twice}");
    }
}

#[test]
fn nesting_is_limited() {
    let nested = |levels: usize| {
        let mut schema = json!({});
        for _ in 0..levels {
            schema = json!({"not": schema});
        }
        schema
    };
    let deepest: JSONSchemaProps = read(&nested(MESSAGE_DEPTH - 1));
    assert_eq!(from_protobuf::<JSONSchemaProps>(&to_protobuf(&deepest)).unwrap(), deepest);

    let error = from_json::<JSONSchemaProps>(nested(MESSAGE_DEPTH).to_string().as_bytes()).unwrap_err();
    assert_eq!(error.problem, Problem::TooDeep { limit: MESSAGE_DEPTH });
    let too_deep = JSONSchemaProps { not: Some(Box::new(deepest)), ..Default::default() };
    let error = from_protobuf::<JSONSchemaProps>(&to_protobuf(&too_deep)).unwrap_err();
    assert_eq!(error.problem, Problem::TooDeep { limit: MESSAGE_DEPTH });

    let unknown = format!(r#"{{"unknown":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    let error = from_json::<Pod>(unknown.as_bytes()).unwrap_err();
    assert!(matches!(error.problem, Problem::TooDeep { .. }), "{error}");
}

#[test]
fn an_invalid_value_is_an_error_with_its_position() {
    let quantity = r#"{"spec":{"overhead":{"cpu":"much"}}}"#;
    let at = quantity.find("\"much").unwrap();
    assert_eq!(
        refused::<Pod>(quantity),
        format!("at byte {at}: expected a quantity such as 500m or 2Gi, found \"much\"")
    );
    let time = r#"{"metadata":{"creationTimestamp":"yesterday"}}"#;
    let at = time.find("\"yester").unwrap();
    assert_eq!(
        refused::<Pod>(time),
        format!("at byte {at}: expected a time such as 2006-01-02T15:04:05Z, found \"yesterday\"")
    );
    let micro = r#"{"spec":{"renewTime":"now"}}"#;
    let at = micro.find("\"now").unwrap();
    assert_eq!(
        refused::<Lease>(micro),
        format!("at byte {at}: expected a time such as 2006-01-02T15:04:05.000000Z, found \"now\"")
    );
    let base64 = r#"{"data":{"a":"%"}}"#;
    let at = base64.find("\"%").unwrap();
    assert_eq!(refused::<Secret>(base64), format!("at byte {at}: expected base64, found \"%\""));
    for (json, problem) in [
        (r#"{"spec":{"priority":3000000000}}"#, "number out of range for a number of 32 bits"),
        (r#"{"spec":{"priority":"1"}}"#, "expected"),
        (r#"{"spec":{"hostNetwork":1}}"#, "expected true or false"),
        (r#"{"spec":[]}"#, "expected"),
        (r#"{"spec":{}"#, "unexpected end of input"),
        (r#"{}{}"#, "bytes follow the end of the value"),
    ] {
        let error = refused::<Pod>(json);
        assert!(error.starts_with("at byte ") && error.contains(problem), "{error}");
    }
    for message in [b"\x12\x05a".as_slice(), b"\x10\x01", b"\x0a\x03\x0a\x01\xff"] {
        assert!(from_protobuf::<Pod>(message).unwrap_err().to_string().starts_with("at byte "));
    }
}

#[test]
fn quantities_and_times_are_canonical() {
    let pod: Pod = read(&json!({
        "metadata": {"creationTimestamp": "2026-11-15T10:00:00+01:00", "deletionTimestamp": "0001-01-01T00:00:00Z"},
        "spec": {"overhead": {"cpu": "0.5", "memory": "2048Mi", "pods": 10}},
    }));
    let overhead: Vec<String> = pod.spec.overhead.values().map(ToString::to_string).collect();
    assert_eq!(overhead, ["500m", "2Gi", "10"]);
    assert_eq!(pod.metadata.creation_timestamp, Some("2026-11-15T09:00:00Z".parse::<Time>().unwrap()));
    assert_eq!(pod.metadata.deletion_timestamp, None, "Go's zero time");
}

#[test]
fn a_number_or_text_keeps_its_type() {
    let mut pod: Pod = read(&json!({"spec": {"containers": [
        {"readinessProbe": {"httpGet": {"port": 80}}},
        {"readinessProbe": {"httpGet": {"port": "http"}}},
    ]}}));
    assert_eq!(from_protobuf::<Pod>(&to_protobuf(&pod)).unwrap(), pod);
    let ports = pod.spec.containers.drain(..).map(|it| it.readiness_probe.unwrap().http_get.unwrap().port);
    assert_eq!(ports.collect::<Vec<_>>(), [IntOrString::from(80), IntOrString::from("http")]);
}

/// Both forms of fields that are a schema or something else.
#[test]
fn schemas_or_other_values_round_trip() {
    let text = json!({"type": "string"});
    for schema in [
        json!({"additionalProperties": true, "items": text, "dependencies": {"a": ["b", "c"]}}),
        json!({"additionalProperties": false, "items": [text, text], "dependencies": {"a": text}}),
        json!({"additionalProperties": text, "default": {"any": [1, 0.5, null]}, "enum": ["a", 1, false]}),
    ] {
        let names = json!({"plural": "widgets", "kind": "Widget"});
        let version =
            json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        let spec = json!({"group": "example.com", "names": names, "scope": "Cluster", "versions": [version]});
        let body = Encoded::json(json!({"spec": spec}).to_string().into_bytes());
        let kind = Kind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let definition: CustomResourceDefinition = from_json(&body.body).unwrap();
        let message = transcode::to_protobuf(&body, &kind).unwrap();
        assert_eq!(to_protobuf(&definition), message);
        assert_eq!(from_protobuf::<CustomResourceDefinition>(&message).unwrap(), definition);
        assert_eq!(untyped(&definition)["spec"], spec);
    }
    let schema: JSONSchemaProps = read(&json!({"additionalProperties": true, "dependencies": {"a": ["b"]}}));
    assert_eq!(schema.additional_properties, Some(OrBool::Bool(true)));
    assert_eq!(schema.dependencies["a"], OrStrings::Strings(vec!["b".into()]));
    let schema = JSONSchemaProps::default().with_items(JSONSchemaProps::default().with_type("string"));
    assert!(matches!(&schema.items, Some(OrArray::Schema(items)) if items.type_ == "string"));
    assert_eq!(to_json(&schema), br#"{"items":{"type":"string"}}"#);
}
