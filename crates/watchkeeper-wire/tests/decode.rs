//! Decoding: both encodings yield the same result.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use watchkeeper_core::Encoded;
use watchkeeper_wire::{DecodeError, Kind, MESSAGE_DEPTH, Malformed, Problem, decode, transcode};

fn encodings(kind: &Kind, object: &Value) -> [Encoded; 2] {
    let json = Encoded::json(object.to_string().into_bytes());
    let protobuf = Encoded::protobuf(transcode::to_protobuf(&json, kind).unwrap());
    [json, protobuf]
}

/// Decodes both encodings and compares the results.
fn both<T: DeserializeOwned + PartialEq + std::fmt::Debug>(kind: &Kind, object: &Value) -> T {
    let [json, protobuf] = encodings(kind, object);
    let (of_json, of_protobuf) = (decode::<T>(&json, kind).unwrap(), decode::<T>(&protobuf, kind).unwrap());
    assert_eq!(of_json, of_protobuf);
    of_protobuf
}

fn pod() -> (Kind, Value) {
    let pod = json!({
        "metadata": {
            "name": "web-0", "namespace": "default", "uid": "u1", "resourceVersion": "7",
            "creationTimestamp": "2026-11-15T09:00:00Z",
            "labels": {"app": "web", "tier": ""},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u0", "controller": true}
            ],
            "managedFields": [{"manager": "k", "operation": "Update", "fieldsV1": {"f:spec": {".": {}}}}]
        },
        "spec": {
            "nodeName": "n1",
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 0,
            "volumes": [{"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "s", "secret": {"secretName": "x"}}],
            "containers": [{
                "name": "main", "image": "nginx:1.27",
                "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
                "readinessProbe": {"tcpSocket": {"port": 80}},
                "ports": [{"containerPort": 80, "name": "http"}]
            }]
        },
        "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]}
    });
    (Kind::new("", "v1", "Pod"), pod)
}

#[test]
fn a_pod_decodes_equally_from_both_encodings() {
    let (kind, object) = pod();
    let decoded: Pod = both(&kind, &object);
    let spec = decoded.spec.unwrap();
    assert_eq!(spec.node_name.as_deref(), Some("n1"));
    assert_eq!(spec.termination_grace_period_seconds, Some(0));
    assert_eq!(spec.volumes.unwrap()[1].secret.as_ref().unwrap().secret_name.as_deref(), Some("x"));
    assert_eq!(decoded.metadata.managed_fields.unwrap().len(), 1);
}

#[test]
fn a_partial_type_decodes_its_fields() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct View {
        kind: String,
        spec: Spec,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        node_name: String,
        containers: Vec<Container>,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    struct Container {
        image: String,
    }
    let (kind, object) = pod();
    let view: View = both(&kind, &object);
    assert_eq!(view.kind, "Pod");
    assert_eq!((view.spec.node_name.as_str(), view.spec.containers[0].image.as_str()), ("n1", "nginx:1.27"));
}

#[test]
fn a_dynamic_object_includes_its_type() {
    let (kind, object) = pod();
    let [json, protobuf] = encodings(&kind, &object);
    let mut expected = object;
    expected["apiVersion"] = json!("v1");
    expected["kind"] = json!("Pod");
    assert_eq!(decode::<Value>(&json, &kind).unwrap(), expected);
    // Go writes some empty fields of a pod that was decoded from protobuf.
    let of_protobuf = decode::<Value>(&protobuf, &kind).unwrap();
    assert_eq!(of_protobuf["spec"]["containers"][0]["image"], "nginx:1.27");
    assert_eq!(of_protobuf["spec"]["containers"][0]["readinessProbe"], json!({"tcpSocket": {"port": 80}}));
    assert_eq!(of_protobuf["apiVersion"], "v1");
}

#[test]
fn bytes_maps_and_enums_decode() {
    let secret: Secret =
        both(&Kind::new("", "v1", "Secret"), &json!({"metadata": {}, "data": {"a": "aGk=", "b": ""}}));
    let data = secret.data.unwrap();
    assert_eq!((data["a"].0.as_slice(), data["b"].0.len()), (&b"hi"[..], 0));

    let map: ConfigMap = both(
        &Kind::new("", "v1", "ConfigMap"),
        &json!({"metadata": {}, "immutable": false, "data": {"k": ""}}),
    );
    assert_eq!(map.immutable, Some(false));

    #[derive(Debug, PartialEq, Deserialize)]
    enum Phase {
        Running,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    struct Status {
        phase: Phase,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    struct View {
        status: Status,
    }
    let (kind, object) = pod();
    assert_eq!(both::<View>(&kind, &object).status.phase, Phase::Running);
}

#[test]
fn mismatches_are_errors_that_name_the_field() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Wrong {
        spec: String,
    }
    let (kind, object) = pod();
    for encoded in encodings(&kind, &object) {
        let error = decode::<Wrong>(&encoded, &kind).unwrap_err();
        assert!(matches!(error, DecodeError::Mismatch(_) | DecodeError::Json(_)), "{error}");
    }
}

#[test]
fn protobuf_of_a_custom_resource_is_an_error_with_advice() {
    let widget = Kind::new("example.com", "v1", "Widget");
    let error = decode::<Value>(&Encoded::protobuf(*b""), &widget).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no protobuf encoding for example.com/v1, Kind=Widget; request JSON instead"
    );
}

#[test]
fn noncontiguous_fields_are_rejected() {
    let kind = Kind::new("", "v1", "Pod");
    let scattered = Encoded::protobuf(*b"\x0a\x00\x12\x00\x0a\x00");
    let error = decode::<Value>(&scattered, &kind).unwrap_err();
    let DecodeError::Malformed(Malformed { problem, offset }) = error else { panic!("{error}") };
    assert_eq!((problem, offset), (Problem::ScatteredField { field: 1 }, 5));
}

#[test]
fn a_wrong_wire_type_is_rejected() {
    let kind = Kind::new("", "v1", "Pod");
    let error = decode::<Value>(&Encoded::protobuf(*b"\x08\x01"), &kind).unwrap_err();
    let DecodeError::Malformed(Malformed { problem, .. }) = error else { panic!("{error}") };
    assert_eq!(problem, Problem::WrongWireType { field: 1, found: 0 });
}

#[test]
fn a_pointer_to_an_empty_union_is_an_empty_message_and_json_null_as_in_go() {
    let kind = Kind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let of_items = |items: &str| {
        let schema = format!(r#"{{"openAPIV3Schema":{{"items":{items}}}}}"#);
        let object = format!(r#"{{"spec":{{"versions":[{{"schema":{schema}}}]}}}}"#);
        transcode::to_protobuf(&Encoded::json(object.into_bytes()), &kind).unwrap()
    };
    // As Go writes a schema with only these items.
    let schema = b"\x0a\x00\x12\x00\x22\x00\x2a\x00\x32\x00\x3a\x00\x50\x00\x60\x00\x7a\x00\x90\x01\x00\xc2\x01\x00\xa8\x02\x00\xb8\x02\x00\xc0\x02\x00";
    for items in ["5", "[]", "true", r#""a""#] {
        let message = of_items(items);
        assert!(message.windows(schema.len()).any(|part| part == schema), "{items}: {message:?}");
        let json: Value = decode(&Encoded::protobuf(message), &kind).unwrap();
        let schema = &json["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        assert_eq!(*schema, json!({"items": null}), "{items}");
    }
    assert!(!of_items("null").windows(3).any(|part| part == b"\xc2\x01\x00"));

    let kind = Kind::new("", "v1", "ConfigMap");
    let zero_time = json!({"metadata": {"deletionTimestamp": "0001-01-01T00:00:00Z"}});
    let [_, message] = encodings(&kind, &zero_time);
    let json: Value = decode(&message, &kind).unwrap();
    assert_eq!(json["metadata"], json!({"deletionTimestamp": null}));
}

/// Returns a schema of this depth.
fn nested_schema(depth: usize) -> String {
    let open = r#"{"properties":{"a":"#.repeat(depth);
    let close = "}}".repeat(depth);
    format!(
        r#"{{"metadata":{{}},"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{open}{{}}{close}}}}}]}}}}"#
    )
}

#[test]
fn the_stack_suffices_for_the_maximum_depth() {
    let kind = Kind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    // The default stack size of a worker thread.
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let deep = Encoded::json(nested_schema(MESSAGE_DEPTH - 10).into_bytes());
        let protobuf = Encoded::protobuf(transcode::to_protobuf(&deep, &kind).unwrap());
        decode::<CustomResourceDefinition>(&protobuf, &kind).unwrap();

        let deeper = Encoded::json(nested_schema(MESSAGE_DEPTH + 10).into_bytes());
        let error = transcode::to_protobuf(&deeper, &kind).unwrap_err();
        let DecodeError::Malformed(Malformed { problem, .. }) = error else { panic!("{error}") };
        assert_eq!(problem, Problem::TooDeep { limit: MESSAGE_DEPTH });
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn truncations_and_flipped_bytes_never_panic() {
    let (kind, object) = pod();
    let [_, protobuf] = encodings(&kind, &object);
    for end in 0..protobuf.body.len() {
        let _ = decode::<Pod>(&Encoded::protobuf(&protobuf.body[..end]), &kind);
    }
    for place in 0..protobuf.body.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut body = protobuf.body.clone();
            body[place] ^= flip;
            let _ = decode::<Pod>(&Encoded::protobuf(body), &kind);
        }
    }
}

/// Types that users may choose for the kind and keys of an object.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wrapped {
    api_version: Option<Word>,
    kind: Sort,
    data: BTreeMap<Word, Option<Word>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Word(String);

#[derive(Debug, PartialEq, Deserialize)]
enum Sort {
    ConfigMap,
}

#[test]
fn types_and_keys_may_be_options_newtypes_or_enums() {
    let word = |text: &str| Word(text.to_owned());
    let (kind, object) = (Kind::new("", "v1", "ConfigMap"), json!({"metadata": {}, "data": {"a": "1"}}));
    let data = [(word("a"), Some(word("1")))].into();
    let expected = Wrapped { api_version: Some(word("v1")), kind: Sort::ConfigMap, data };
    assert_eq!(both::<Wrapped>(&kind, &object), expected);
    assert_eq!(both::<BTreeMap<Word, Value>>(&kind, &object).len(), 4);
}

#[test]
fn protobuf_quantities_are_normalized_as_in_go() {
    let field = |tag: &[u8], payload: &[u8]| [tag, &[payload.len() as u8], payload].concat();
    let pod = |quantity: &str| {
        let quantity = field(&[0x0a], quantity.as_bytes());
        let entry = [field(&[0x0a], b"cpu"), field(&[0x12], &quantity)].concat();
        Encoded::protobuf(field(&[0x12], &field(&[0x82, 0x02], &entry))) // spec.overhead
    };
    let kind = Kind::new("", "v1", "Pod");
    for (text, canonical) in [("500m", "500m"), ("0.5", "500m"), ("1024Ki", "1Mi"), ("8Ki", "8Ki")] {
        let decoded: Value = decode(&pod(text), &kind).unwrap();
        assert_eq!(decoded["spec"]["overhead"], json!({"cpu": canonical}), "{text}");
    }
    let refused = decode::<Value>(&pod("lots"), &kind).unwrap_err();
    assert!(
        matches!(refused, DecodeError::Malformed(Malformed { problem: Problem::BadValue { .. }, .. })),
        "{refused:?}"
    );
}

#[test]
fn json_quantities_need_no_quotes_and_have_no_escapes() {
    let kind = Kind::new("", "v1", "Pod");
    let encoded = |cpu: &str| {
        let body = format!(r#"{{"spec":{{"overhead":{{"cpu":{cpu}}}}}}}"#);
        transcode::to_protobuf(&Encoded::json(body.into_bytes()), &kind)
    };
    assert_eq!(encoded("\" 1.5 \"").unwrap(), encoded("1.5").unwrap());
    for refused in [r#""\u0031""#, "true", "[1]", "{}", r#""""#] {
        assert!(encoded(refused).is_err(), "{refused}");
    }
}

#[test]
fn a_map_entry_without_a_value_has_an_empty_one() {
    let field = |tag: u8, payload: &[u8]| [&[tag, payload.len() as u8], payload].concat();
    let entry = field(0x0a, b"k");
    let review = Encoded::protobuf(field(0x1a, &field(0x12, &field(0x22, &entry)))); // status.user.extra
    let decoded: Value = decode(&review, &Kind::new("authentication.k8s.io", "v1", "TokenReview")).unwrap();
    assert_eq!(decoded["status"]["user"]["extra"], json!({"k": []}));
    let secret = Encoded::protobuf(field(0x12, &entry)); // data
    let decoded: Value = decode(&secret, &Kind::new("", "v1", "Secret")).unwrap();
    assert_eq!(decoded["data"], json!({"k": ""}));
}

#[test]
fn the_type_is_added_after_leading_whitespace() {
    let (kind, body) = (Kind::new("", "v1", "Pod"), Encoded::json(b"\n {}".as_slice()));
    let mut json = Vec::new();
    transcode::to_json(&body, &kind, transcode::Types::Named, &mut json).unwrap();
    assert_eq!(json, br#"{"kind":"Pod","apiVersion":"v1"}"#);
}

#[test]
fn non_minimal_zeros_are_omitted() {
    // metadata.name, generation and generateName; only the last is not empty.
    let metadata = b"\x0a\x80\x00\x38\x80\x80\x00\x12\x81\x00a";
    let secret = Encoded::protobuf([&[0x0a, metadata.len() as u8], &metadata[..]].concat());
    let decoded: Value = decode(&secret, &Kind::new("", "v1", "Secret")).unwrap();
    assert_eq!(decoded["metadata"], json!({"generateName": "a"}));
}

#[test]
fn the_type_of_a_custom_resource_is_sorted_among_its_fields() {
    let kind = Kind::new("example.com", "v1", "Widget");
    for (body, expected) in [
        (r#"{"metadata":{}}"#, r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{}}"#),
        (
            r#" {"a":1, "data":{"z":"}"},"metadata":{} }"#,
            r#" {"a":1, "apiVersion":"example.com/v1","data":{"z":"}"},"kind":"Widget","metadata":{} }"#,
        ),
        (r#"{"data":1}"#, r#"{"apiVersion":"example.com/v1","kind":"Widget","data":1}"#),
        ("{}", r#"{"apiVersion":"example.com/v1","kind":"Widget"}"#),
    ] {
        let mut json = b"before".to_vec();
        let body = Encoded::json(body.as_bytes());
        transcode::to_json(&body, &kind, transcode::Types::Named, &mut json).unwrap();
        assert_eq!(String::from_utf8(json).unwrap(), format!("before{expected}"));
    }
}
