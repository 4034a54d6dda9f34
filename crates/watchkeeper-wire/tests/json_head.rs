//! Metadata of JSON objects.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod documents;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use watchkeeper_core::{ObjectMeta, ObjectMetaBuilder, OwnerReference};
use watchkeeper_wire::json::read_object_meta;
use watchkeeper_wire::{Annotations, Malformed, Problem};

fn read(object: &str) -> Result<ObjectMeta, Malformed> {
    read_object_meta(object.as_bytes(), Annotations::Keep, &mut ObjectMetaBuilder::default())
}

/// Parses an object with this metadata.
fn head(metadata: &str) -> Result<ObjectMeta, Malformed> {
    read(&format!(r#"{{"metadata":{metadata}}}"#))
}

const POD: &str = concat!(
    r#"{"apiVersion":"v1","kind":"Pod","spec":{"metadata":{"name":"not me"}},"metadata":{"name":"web-0","#,
    r#""generateName":"web-","namespace":"default","uid":"u-1","resourceVersion":"17","generation":3,"#,
    r#""creationTimestamp":"2026-11-15T10:00:00Z","deletionTimestamp":"2026-11-15T11:00:00+01:00","#,
    r#""deletionGracePeriodSeconds":30,"labels":{"app":"web","tier":""},"annotations":{"note":"a\nb"},"#,
    r#""ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u-2","#,
    r#""controller":true,"blockOwnerDeletion":true},{"kind":"Node","name":"n","uid":"u-3","apiVersion":"v1"}],"#,
    r#""managedFields":[{"manager":"kubelet","fieldsV1":{"f:status":{"k:{\"type\":\"Ready\"}":{}}}}]},"#,
    r#""status":{"phase":"Running"}}"#,
);

#[test]
fn every_field_of_the_metadata_is_parsed() {
    let head = read(POD).unwrap();
    assert_eq!(head.key().to_string(), "default/web-0");
    assert_eq!(
        (head.uid(), head.resource_version().to_string().as_str(), head.generation()),
        ("u-1", "17", 3)
    );
    assert_eq!(head.creation_timestamp(), "2026-11-15T10:00:00Z".parse().ok());
    assert_eq!(head.deletion_timestamp(), "2026-11-15T10:00:00Z".parse().ok());
    assert_eq!(head.labels().collect::<Vec<_>>(), [("app", "web"), ("tier", "")]);
    assert_eq!(head.annotations().collect::<Vec<_>>(), [("note", "a\nb")]);
    let set = OwnerReference {
        api_version: "apps/v1",
        kind: "ReplicaSet",
        name: "web",
        uid: "u-2",
        controller: true,
    };
    let node = OwnerReference { api_version: "v1", kind: "Node", name: "n", uid: "u-3", controller: false };
    assert_eq!(head.owner_references().collect::<Vec<_>>(), [set, node]);
}

#[test]
fn annotations_are_kept_only_on_request() {
    let head =
        read_object_meta(POD.as_bytes(), Annotations::Skip, &mut ObjectMetaBuilder::default()).unwrap();
    assert_eq!(head.annotations().len(), 0);
}

#[test]
fn null_is_an_absent_field() {
    let nulls = head(concat!(
        r#"{"name":null,"namespace":null,"uid":null,"resourceVersion":null,"generation":null,"#,
        r#""creationTimestamp":null,"deletionTimestamp":null,"labels":null,"annotations":null,"#,
        r#""ownerReferences":null,"managedFields":null,"other":null}"#,
    ));
    assert_eq!(nulls, head("{}"));
}

#[test]
fn null_in_a_map_is_an_empty_string_and_a_null_owner_is_empty() {
    let head =
        head(r#"{"labels":{"a":null},"ownerReferences":[null,{"kind":null,"controller":null}]}"#).unwrap();
    assert_eq!(head.label("a"), Some(""));
    assert_eq!(head.owner_references().collect::<Vec<_>>(), [OwnerReference::default(); 2]);
}

#[test]
fn an_object_without_a_name_has_metadata() {
    let head =
        head(r#"{"resourceVersion":"42","annotations":{"k8s.io/initial-events-end":"true"}}"#).unwrap();
    assert_eq!((head.key().name(), head.annotation("k8s.io/initial-events-end")), ("", Some("true")));
}

#[test]
fn the_zero_time_of_go_is_unset() {
    assert_eq!(head(r#"{"creationTimestamp":"0001-01-01T00:00:00Z"}"#).unwrap().creation_timestamp(), None);
}

#[test]
fn escaped_keys_and_values_are_decoded() {
    let head = read(r#"{"m\u0065tadata":{"n\u0061me":"\ud83d\ude00","labels":{"\u0061":"\"\\"}}}"#).unwrap();
    assert_eq!((head.key().name(), head.label("a")), ("\u{1f600}", Some("\"\\")));
}

#[test]
fn unpaired_surrogates_are_decoded_as_in_go() {
    assert_eq!(head(r#"{"name":"a\ud800b"}"#).unwrap().key().name(), "a\u{fffd}b");
}

#[test]
fn metadata_errors_have_a_position_and_a_problem() {
    use Problem::*;
    let bad = |expected, found: &str| BadValue { expected, found: found.into() };
    let cases = [
        (r#"[]"#, Expected("an object")),
        (r#"{"name":7}"#, Expected("a string")),
        (r#"{"name":{}}"#, Expected("a string")),
        (r#"{"generation":"3"}"#, Expected("a number")),
        (r#"{"generation":9223372036854775808}"#, NumberOutOfRange("generation")),
        (r#"{"generation":-9223372036854775809}"#, NumberOutOfRange("generation")),
        (r#"{"generation":1.0}"#, bad("an integer", r#""1.0""#)),
        (r#"{"generation":1e3}"#, bad("an integer", r#""1e3""#)),
        (r#"{"creationTimestamp":"yesterday"}"#, bad("an RFC 3339 time", r#""yesterday""#)),
        (r#"{"deletionTimestamp":""}"#, bad("an RFC 3339 time", r#""""#)),
        (r#"{"deletionTimestamp":0}"#, Expected("a string")),
        (r#"{"labels":[]}"#, Expected("an object")),
        (r#"{"labels":{"a":1}}"#, Expected("a string")),
        (r#"{"annotations":{"a":{}}}"#, Expected("a string")),
        (r#"{"ownerReferences":{}}"#, Expected("an array")),
        (r#"{"ownerReferences":["a"]}"#, Expected("an object")),
        (r#"{"ownerReferences":[{"controller":"true"}]}"#, Expected("true or false")),
        (r#"{"name":"a","name":"a"}"#, DuplicateKey("name".into())),
        (r#"{"other":1,"oth\u0065r":2}"#, DuplicateKey("other".into())),
        (r#"{"labels":{"a":"1","a":"2"}}"#, DuplicateKey("a".into())),
        (r#"{"ownerReferences":[{"uid":"1","uid":"1"}]}"#, DuplicateKey("uid".into())),
        (r#"{"name":"\x"}"#, InvalidEscape),
        ("{\"name\":\"\n\"}", ControlCharacter),
        (r#"{"name":"a" "b"}"#, Expected("a comma or the end of the object")),
        (r#"{"name":"a"]"#, Expected("a comma or the end of the object")),
    ];
    for (metadata, problem) in cases {
        assert_eq!(head(metadata).unwrap_err().problem, problem, "{metadata}");
    }
    assert_eq!(head(r#"{"name":7}"#).unwrap_err().offset, 20);
    let invalid = read_object_meta(
        b"{\"metadata\":{\"name\":\"a\xff\"}}",
        Annotations::Skip,
        &mut ObjectMetaBuilder::default(),
    );
    assert_eq!(invalid, Err(Malformed { offset: 22, problem: InvalidUtf8 }));
}

#[test]
fn an_object_without_metadata_is_rejected() {
    for object in ["{}", r#"{"metadata":null}"#, r#"{"spec":{"metadata":{}}}"#] {
        assert_eq!(read(object).unwrap_err().problem, Problem::Expected("metadata"), "{object}");
    }
}

#[test]
fn duplicate_top_level_keys_are_rejected() {
    let cases = [r#"{"metadata":{},"metadata":{}}"#, r#"{"metadata":{},"metad\u0061ta":{}}"#];
    for object in cases {
        assert_eq!(read(object).unwrap_err().problem, Problem::DuplicateKey("metadata".into()), "{object}");
    }
    let problem = read(r#"{"spec":1,"metadata":{},"spec":2}"#).unwrap_err().problem;
    assert_eq!(problem, Problem::DuplicateKey("spec".into()));
}

#[test]
fn fields_outside_of_metadata_must_be_balanced_and_complete() {
    let cases = [
        (r#"{"metadata":{},"spec":{"a":[}"#, Problem::Truncated),
        (r#"{"metadata":{}} {"#, Problem::TrailingBytes),
        (r#"{"metadata":{},}"#, Problem::Expected("a key")),
        (r#"["metadata"]"#, Problem::Expected("an object")),
        (r#"null"#, Problem::Expected("an object")),
    ];
    for (object, problem) in cases {
        assert_eq!(read(object).unwrap_err().problem, problem, "{object}");
    }
    let deep = format!(r#"{{"metadata":{{}},"spec":{}{}}}"#, "[".repeat(600), "]".repeat(600));
    assert_eq!(
        read(&deep).unwrap_err(),
        Malformed { offset: 22 + 511, problem: Problem::TooDeep { limit: 512 } }
    );
}

#[test]
fn an_object_truncated_at_any_byte_is_rejected() {
    for cut in 0..POD.len() {
        assert_eq!(
            read(&POD[..cut]),
            Err(Malformed { offset: cut as u64, problem: Problem::Truncated }),
            "{cut}"
        );
    }
}

#[test]
fn a_builder_can_be_reused_after_an_error() {
    let mut builder = ObjectMetaBuilder::default();
    let bad = br#"{"metadata":{"name":"bad","labels":{"a":"b","c":1}}}"#;
    read_object_meta(bad, Annotations::Keep, &mut builder).unwrap_err();
    let head = read_object_meta(POD.as_bytes(), Annotations::Keep, &mut builder).unwrap();
    assert_eq!(Ok(head), read(POD));
}

/// An object with metadata fields in any order, and the metadata as a value.
fn object() -> impl Strategy<Value = (String, Value)> {
    let text = || prop_oneof![Just(Value::Null), documents::string().prop_map(Value::from)];
    let map = || {
        let pairs = prop::collection::vec((documents::string(), text()), 0..5);
        pairs.prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
    };
    let owner = (text(), text(), text(), prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from)]);
    let owner = owner.prop_map(|(kind, name, uid, controller)| {
        json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": controller, "x": [{}]})
    });
    let metadata = (
        (text(), text(), text(), text()),
        any::<i64>(),
        (map(), map()),
        prop::collection::vec(owner, 0..3),
        documents::value(),
    );
    let members = metadata.prop_map(|((name, namespace, uid, version), generation, maps, owners, other)| {
        let members = [
            ("name", name),
            ("namespace", namespace),
            ("uid", uid),
            ("resourceVersion", version),
            ("generation", generation.into()),
            ("labels", maps.0),
            ("annotations", maps.1),
            ("ownerReferences", owners.into()),
            ("managedFields", other),
        ];
        members.map(|(key, value)| (key.to_owned(), value)).to_vec()
    });
    let members = members.prop_flat_map(|members| Just(members).prop_shuffle());
    (members, documents::value(), documents::value(), any::<bool>()).prop_map(
        |(members, spec, status, pretty)| {
            let metadata = documents::object_text(&members, pretty);
            let text = format!(r#"{{"spec":{spec},"metadata":{metadata},"status":{status}}}"#);
            (text, Value::Object(members.into_iter().collect()))
        },
    )
}

proptest! {
    #[test]
    fn metadata_agrees_with_serde_json((text, metadata) in object()) {
        let head = read(&text).unwrap();
        let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let namespace = string(&metadata["namespace"]);
        prop_assert_eq!(head.key().name(), string(&metadata["name"]));
        prop_assert_eq!(head.key().namespace().unwrap_or_default(), namespace);
        prop_assert_eq!(head.uid(), string(&metadata["uid"]));
        prop_assert_eq!(head.resource_version().to_string(), string(&metadata["resourceVersion"]));
        prop_assert_eq!(Some(head.generation()), metadata["generation"].as_i64());
        let pairs = |value: &Value| {
            let map = value.as_object().cloned().unwrap_or_default();
            map.into_iter().map(|(key, value)| (key, string(&value))).collect::<Vec<_>>()
        };
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        prop_assert_eq!(head.labels().map(owned).collect::<Vec<_>>(), pairs(&metadata["labels"]));
        prop_assert_eq!(head.annotations().map(owned).collect::<Vec<_>>(), pairs(&metadata["annotations"]));
        let owners = metadata["ownerReferences"].as_array().unwrap();
        prop_assert_eq!(head.owner_references().len(), owners.len());
        for (owner, expected) in head.owner_references().zip(owners) {
            prop_assert_eq!(owner.api_version, "v1");
            prop_assert_eq!(owner.kind, string(&expected["kind"]));
            prop_assert_eq!(owner.name, string(&expected["name"]));
            prop_assert_eq!(owner.uid, string(&expected["uid"]));
            prop_assert_eq!(owner.controller, expected["controller"] == true);
        }
    }

    #[test]
    fn corrupted_bytes_never_panic_and_results_agree_with_serde_json(
        (text, _) in object(), wrong in prop::collection::vec((any::<Index>(), documents::nasty_byte()), 1..4)
    ) {
        let mut text = text.into_bytes();
        for (place, byte) in wrong {
            let place = place.index(text.len());
            text[place] = byte;
        }
        let head = read_object_meta(&text, Annotations::Keep, &mut ObjectMetaBuilder::default());
        if let (Ok(head), Ok(value)) = (head, serde_json::from_slice::<Value>(&text)) {
            prop_assert_eq!(head.key().name(), value["metadata"]["name"].as_str().unwrap_or_default());
            prop_assert_eq!(head.uid(), value["metadata"]["uid"].as_str().unwrap_or_default());
        }
    }
}
