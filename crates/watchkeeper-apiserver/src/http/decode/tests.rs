//! Decoding against recorded responses of kube-apiserver.

use super::*;
use serde_json::json;
use watchkeeper_wire::protobuf::wrap;

fn kind_of(name: &str) -> GroupVersionKind {
    match name {
        "pod" => GroupVersionKind::new("", "v1", "Pod"),
        "cm" => GroupVersionKind::new("", "v1", "ConfigMap"),
        "svc" => GroupVersionKind::new("", "v1", "Service"),
        "dep" => GroupVersionKind::new("apps", "v1", "Deployment"),
        "rev" => GroupVersionKind::new("apps", "v1", "ControllerRevision"),
        "crd" => GroupVersionKind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        other => panic!("{other}"),
    }
}

#[test]
fn fields_are_validated_like_kube_apiserver() {
    let mut checked = 0;
    for line in include_str!("../testdata/field_validation.jsonl").lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| record[name].as_str().unwrap();
        let media = MediaType::ALL.into_iter().find(|media| media.as_str() == text("ct")).unwrap();
        let kind = kind_of(text("kind"));
        for (name, validation) in [
            ("Strict", FieldValidation::Strict),
            ("Warn", FieldValidation::Warn),
            ("Ignore", FieldValidation::Ignore),
        ] {
            let Some(recorded) = record.get(name) else { continue };
            let decoded = decode_object(text("body").as_bytes(), media, &kind, validation);
            let recorded_code = recorded[0].as_u64().unwrap();
            match decoded {
                // Later steps can still refuse the object, and add warnings.
                Ok(decoded) => {
                    assert_ne!(recorded_code, 400, "{name} {line}");
                    let warnings: Vec<String> =
                        decoded.warnings.iter().map(|it| super::super::respond::warning(it)).collect();
                    assert_eq!(json!(warnings), recorded[2], "{name} {line}");
                }
                Err(status) => {
                    assert_eq!((recorded_code, &json!(status.message)), (400, &recorded[1]), "{line}");
                }
            }
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked} answers");
}

#[test]
fn invalid_bodies_are_refused_in_upstream_words() {
    let begin = "the object provided is unrecognized (must be of type ConfigMap): ";
    let json = "couldn't get version/kind; json parse error: ";
    for (media, body, message) in [
            (MediaType::JSON, "", format!("{begin}{json}unexpected end of JSON input (<empty>)")),
            (MediaType::JSON, "{", format!("{begin}{json}unexpected end of JSON input ({{)")),
            (MediaType::JSON, "[]", format!("{begin}{json}json: cannot unmarshal array into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }} (5b5d)")),
            (MediaType::JSON, r#"{"kind":1,"apiVersion":"v1"}"#, format!("{begin}{json}json: cannot unmarshal number into Go struct field .kind of type string ({{\"kind\":1,\"apiVersion\":\"v1\"}})")),
            (MediaType::JSON, r#"{"kind":"ConfigMap","apiVersion":"a/b/c"}"#, format!("{begin}unexpected GroupVersion string: a/b/c ({{\"kind\":\"ConfigMap\",\"apiVersio ...)")),
            (MediaType::JSON, r#"{"kind":"Pod","apiVersion":"v1"}"#, "Pod in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): unknown conversion".to_owned()),
            (MediaType::JSON, r#"{"kind":"Bogus","apiVersion":"v1"}"#, "Bogus in version \"v1\" cannot be handled as a ConfigMap: no kind \"Bogus\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\"".to_owned()),
            (MediaType::JSON, r#"{"kind":"ConfigMap","apiVersion":"apps/v1"}"#, "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \"apps/v1\" in scheme \"pkg/runtime/scheme.go:111\"".to_owned()),
            (MediaType::Yaml, "a: b: c", format!("{begin}yaml: mapping values are not allowed in this context (613a20623a2063)")),
            (MediaType::Yaml, "data: {a: yes}", "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal bool into Go struct field ConfigMap.data of type string".to_owned()),
            (MediaType::PROTOBUF, "", format!("{begin}empty data (<empty>)")),
            (MediaType::PROTOBUF, "k8s\0", format!("{begin}empty body (6b387300)")),
            (MediaType::PROTOBUF, "nope", format!("{begin}provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (6e6f7065)")),
        ] {
            let status = decode_object(body.as_bytes(), media, &kind_of("cm"), FieldValidation::Strict).unwrap_err();
            assert_eq!((status.code, status.message), (400, message), "{body}");
        }
}

#[test]
fn a_body_without_a_kind_is_of_the_expected_kind() {
    for (media, body) in [(MediaType::JSON, "null"), (MediaType::JSON, "{}"), (MediaType::Yaml, "")] {
        let decoded =
            decode_object(body.as_bytes(), media, &kind_of("dep"), FieldValidation::Strict).unwrap();
        assert_eq!(decoded.value, json!({"apiVersion": "apps/v1", "kind": "Deployment"}));
    }
}

#[test]
fn fields_that_the_kind_does_not_have_are_dropped() {
    let body = br#"{"bogus":1,"spec":{"containers":[{"name":"c","x":1,"env":[{"name":"A","y":2}]}],"volumes":[{"name":"v","emptyDir":{"z":1}}]}}"#;
    let decoded = decode_object(body, MediaType::JSON, &kind_of("pod"), FieldValidation::Ignore).unwrap();
    let expected = json!({
        "apiVersion": "v1", "kind": "Pod",
        "spec": {"containers": [{"name": "c", "env": [{"name": "A"}]}], "volumes": [{"name": "v", "emptyDir": {}}]}
    });
    assert_eq!(decoded.value, expected);
}

#[test]
fn protobuf_becomes_json() {
    let message = transcode::to_protobuf(
        &Encoded::json(br#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#.as_slice()),
        &Kind::new("", "v1", "ConfigMap"),
    )
    .unwrap();
    for body in [wrap("v1", "ConfigMap", &message), wrap("", "", &message)] {
        let decoded =
            decode_object(&body, MediaType::PROTOBUF, &kind_of("cm"), FieldValidation::Strict).unwrap();
        assert_eq!(decoded.value["data"]["k"], "v");
        assert_eq!(decoded.value["kind"], "ConfigMap");
    }
    let pod = wrap("v1", "Pod", b"");
    let status = decode_object(&pod, MediaType::PROTOBUF, &kind_of("cm"), FieldValidation::Warn).unwrap_err();
    assert!(status.message.contains("unknown conversion"), "{status}");
}

#[test]
fn invalid_delete_options_are_refused_in_upstream_words() {
    let refused = |body: &str| decode_delete_options(body.as_bytes(), MediaType::JSON).unwrap_err().message;
    assert_eq!(
        refused(r#"{"kind":"Pod","apiVersion":"v1"}"#),
        "no kind \"Pod\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\""
    );
    assert_eq!(
        refused(r#"{"dryRun":"All"}"#),
        "json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string"
    );
    assert_eq!(
        refused(r#"{"gracePeriodSeconds":"x"}"#),
        "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
    );
    assert_eq!(refused(" "), "couldn't get version/kind; json parse error: unexpected end of JSON input");
    for body in [
        r#"{"kind":"DeleteOptions","apiVersion":"apps/v1","dryRun":["All"]}"#,
        r#"{"dryRun":["All"],"bogus":1}"#,
    ] {
        let value = decode_delete_options(body.as_bytes(), MediaType::JSON).unwrap();
        assert_eq!(value["dryRun"], json!(["All"]));
    }
}

#[test]
fn patches_are_decoded_with_their_findings() {
    let shown = |body: &str, patch| {
        let decoded = decode_patch(body.as_bytes(), patch).map_err(|status| status.message)?;
        Ok::<_, String>(decoded.findings.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    assert_eq!(
        shown(r#"{"bogus":1,"data":{"a":"1","a":"2"}}"#, PatchType::Merge).unwrap(),
        [r#"duplicate field "data.a""#]
    );
    let operations = r#"[{"op":"add","path":"/bogus","value":{"x":1,"x":2}},{"op":"add","path":"/data","value":{"a":"1"},"path":"/data","foo":1}]"#;
    assert_eq!(
        shown(operations, PatchType::Json).unwrap(),
        [r#"json patch duplicate field "[1].path""#, r#"json patch unknown field "[1].foo""#]
    );
    assert_eq!(shown("nope", PatchType::Strategic).unwrap_err(), "invalid JSON patch");
    assert_eq!(
        shown("{}", PatchType::Json).unwrap_err(),
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
    );
    assert_eq!(
        shown("a: b: c", PatchType::Apply).unwrap_err(),
        "error encoding patch: yaml: mapping values are not allowed in this context"
    );
    let many = format!("[{}]", vec!["{}"; JSON_PATCH_OPERATIONS + 1].join(","));
    assert_eq!(
        shown(&many, PatchType::Json).unwrap_err(),
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}
