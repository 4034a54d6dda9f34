//! Unknown and duplicate fields, and values of the wrong type.

use super::*;
use watchkeeper_wire::document::read_json;

fn inspected(kind: (&str, &str, &str), text: &str) -> Result<Vec<String>, String> {
    let message = schema::builtin().message(kind.0, kind.1, kind.2);
    let findings = inspect(&read_json(text.as_bytes()).unwrap(), message)?;
    Ok(findings.iter().map(ToString::to_string).collect())
}

const POD: (&str, &str, &str) = ("", "v1", "Pod");
const SERVICE: (&str, &str, &str) = ("", "v1", "Service");
const CONFIG_MAP: (&str, &str, &str) = ("", "v1", "ConfigMap");

#[test]
fn custom_kinds_are_checked_only_for_duplicates() {
    let found = inspected(("example.com", "v1", "Widget"), r#"{"spec":{"a":1,"b":[{"c":1,"c":2}],"a":3}}"#);
    assert_eq!(found.unwrap(), [r#"duplicate field "spec.b[0].c""#, r#"duplicate field "spec.a""#]);
}

#[test]
fn objects_within_objects_may_name_their_kind() {
    let text = r#"{"spec":{"volumeClaimTemplates":[{"kind":"PersistentVolumeClaim","apiVersion":"v1","bogus":1}],"kind":1}}"#;
    let found = inspected(("apps", "v1", "StatefulSet"), text).unwrap();
    let expected = [r#"unknown field "spec.volumeClaimTemplates[0].bogus""#, r#"unknown field "spec.kind""#];
    assert_eq!(found, expected);
}

#[test]
fn values_of_the_wrong_type_are_refused_in_gos_words() {
    let mismatch = |kind, text| inspected(kind, text).unwrap_err();
    for (kind, text, error) in [
        (
            CONFIG_MAP,
            r#"{"data":{"a":1}}"#,
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (
            CONFIG_MAP,
            r#"{"data":[]}"#,
            "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            CONFIG_MAP,
            r#"{"immutable":"x"}"#,
            "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool",
        ),
        (CONFIG_MAP, r#"{"binaryData":{"a":"***"}}"#, "illegal base64 data at input byte 0"),
        (
            CONFIG_MAP,
            r#"{"metadata":{"creationTimestamp":"x"}}"#,
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
        ),
        (
            CONFIG_MAP,
            r#"{"metadata":{"generation":1.5}}"#,
            "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64",
        ),
        (
            CONFIG_MAP,
            r#"{"metadata":7}"#,
            "json: cannot unmarshal number into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
        ),
        (
            CONFIG_MAP,
            r#"{"metadata":{"ownerReferences":[{"name":5}]}}"#,
            "json: cannot unmarshal number into Go struct field OwnerReference.metadata.ownerReferences.name of type string",
        ),
        (
            SERVICE,
            r#"{"spec":{"ports":[{"port":80,"targetPort":{"x":1}}]}}"#,
            "json: cannot unmarshal object into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
    ] {
        assert_eq!(mismatch(kind, text), error, "{text}");
    }
}

#[test]
fn null_fits_everywhere() {
    let text = r#"{"metadata":null,"spec":{"containers":null,"nodeName":null,"volumes":[null]}}"#;
    assert_eq!(inspected(POD, text).unwrap(), [""; 0]);
}

#[test]
fn a_long_path_is_truncated_and_costs_little() {
    let fields = ["\"a\":1"; 10_000].join(",");
    let text = format!("{{\"{}\":{{{fields}}}}}", "x".repeat(1 << 20));
    let found = inspected(("example.com", "v1", "Widget"), &text).unwrap();
    assert_eq!(found, [format!("duplicate field \"{}\"", "x".repeat(FINDING_PATH_BYTES))]);
}

#[test]
fn findings_have_a_limit() {
    let fields: Vec<String> = (0..STRICT_FINDINGS + 5).map(|n| format!("\"u{n}\":1")).collect();
    let found = inspected(POD, &format!("{{{}}}", fields.join(","))).unwrap();
    assert_eq!(found.len(), STRICT_FINDINGS);
}
