//! Metadata and pruning of protobuf objects.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use proptest::prelude::*;
use serde_json::{Value, json};
use watchkeeper_core::{Encoded, ObjectMetaBuilder};
use watchkeeper_wire::protobuf::{self, Cut};
use watchkeeper_wire::{
    Annotations, FieldPath, Kind, Malformed, Paths, Problem, ReadOptions, decode, schema, transcode,
};

fn kind() -> Kind {
    Kind::new("", "v1", "Pod")
}

fn pod() -> Value {
    json!({
        "metadata": {
            "name": "web-0", "namespace": "shop", "uid": "u1", "resourceVersion": "42", "generation": 3,
            "creationTimestamp": "2026-11-15T09:00:00Z", "deletionTimestamp": "2026-11-15T10:00:00Z",
            "labels": {"app": "web", "tier": "front"},
            "annotations": {"example.com/note": "long", "kept": "yes"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u0", "controller": true}
            ],
            "managedFields": [
                {"manager": "a", "operation": "Update", "fieldsV1": {"f:spec": {}}},
                {"manager": "b", "operation": "Apply", "fieldsV1": {"f:status": {}}}
            ]
        },
        "spec": {
            "containers": [
                {"name": "a", "image": "one", "env": [{"name": "A", "value": "1"}]},
                {"name": "b", "image": "two", "env": [{"name": "B"}], "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
            ],
            "volumes": [{"name": "s", "secret": {"secretName": "x", "optional": true}}]
        },
        "status": {}
    })
}

fn message(object: &Value) -> Vec<u8> {
    transcode::to_protobuf(&Encoded::json(object.to_string().into_bytes()), &kind()).unwrap()
}

fn cut(paths: &[&str]) -> Cut {
    let paths: Paths = paths.iter().map(|path| path.parse::<FieldPath>().unwrap()).collect();
    Cut::compile(schema::builtin(), kind().message().unwrap(), &paths).unwrap()
}

/// Prunes an object, and checks that the result equals an encoded object without the fields.
fn without(object: &Value, paths: &[&str], expected: &Value) {
    let body = cut(paths).copy(&message(object)).unwrap();
    let decoded = |body: &[u8]| decode::<Value>(&Encoded::protobuf(body), &kind()).unwrap();
    assert_eq!(decoded(&body), decoded(&message(expected)), "without {paths:?}");
}

#[test]
fn every_field_of_the_metadata_is_parsed() {
    let head =
        protobuf::read_object_meta(&message(&pod()), Annotations::Keep, &mut ObjectMetaBuilder::default())
            .unwrap();
    assert_eq!(head.key().to_string(), "shop/web-0");
    assert_eq!((head.uid(), head.generation(), head.resource_version().as_u64()), ("u1", 3, Some(42)));
    assert_eq!(head.creation_timestamp().unwrap().to_string(), "2026-11-15T09:00:00Z");
    assert_eq!(head.deletion_timestamp().unwrap().to_string(), "2026-11-15T10:00:00Z");
    assert_eq!(head.labels().collect::<Vec<_>>(), [("app", "web"), ("tier", "front")]);
    assert_eq!(head.annotation("kept"), Some("yes"));
    let owner = head.controller().unwrap();
    assert_eq!(
        (owner.api_version, owner.kind, owner.name, owner.uid),
        ("apps/v1", "ReplicaSet", "web", "u0")
    );
}

#[test]
fn annotations_are_kept_only_on_request() {
    let head =
        protobuf::read_object_meta(&message(&pod()), Annotations::Skip, &mut ObjectMetaBuilder::default())
            .unwrap();
    assert_eq!(head.annotations().len(), 0);
}

#[test]
fn an_object_without_metadata_is_rejected() {
    let error = protobuf::read_object_meta(b"\x12\x00", Annotations::Skip, &mut ObjectMetaBuilder::default())
        .unwrap_err();
    assert_eq!(error, Malformed { offset: 2, problem: Problem::Expected("metadata") });
}

#[test]
fn metadata_of_the_wrong_wire_type_is_rejected() {
    let mut head = ObjectMetaBuilder::default();
    let error = protobuf::read_object_meta(b"\x08\x01", Annotations::Skip, &mut head).unwrap_err();
    assert_eq!(error.problem, Problem::WrongWireType { field: 1, found: 0 });
    // metadata { 7: bytes instead of a number }
    let error = protobuf::read_object_meta(b"\x0a\x03\x3a\x01x", Annotations::Skip, &mut head).unwrap_err();
    assert_eq!(error.problem, Problem::WrongWireType { field: 7, found: 2 });
}

#[test]
fn managed_fields_are_pruned_byte_for_byte() {
    let mut smaller = pod();
    smaller["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(*Cut::managed_fields().copy(&message(&pod())).unwrap(), message(&smaller));
}

#[test]
fn an_object_is_read_with_metadata_and_without_pruned_fields() {
    let cut = Cut::managed_fields();
    let object =
        protobuf::read_object(&message(&pod()), Annotations::Skip, &cut, &mut ObjectMetaBuilder::default())
            .unwrap();
    assert_eq!(object.metadata.key().name(), "web-0");
    assert_eq!(object.encoded, Encoded::protobuf(cut.copy(&message(&pod())).unwrap()));
}

#[test]
fn an_empty_cut_copies() {
    assert_eq!(*Cut::default().copy(&message(&pod())).unwrap(), message(&pod()));
}

#[test]
fn fields_are_pruned_in_every_element_of_a_list() {
    let mut expected = pod();
    for container in expected["spec"]["containers"].as_array_mut().unwrap() {
        container.as_object_mut().unwrap().remove("env");
    }
    without(&pod(), &["spec.containers.env"], &expected);
}

#[test]
fn map_entries_are_pruned_by_key() {
    let mut expected = pod();
    expected["metadata"]["annotations"].as_object_mut().unwrap().remove("example.com/note");
    expected["spec"]["containers"][1]["resources"]["limits"].as_object_mut().unwrap().remove("memory");
    let paths = [r#"metadata.annotations["example.com/note"]"#, "spec.containers.resources.limits.memory"];
    without(&pod(), &paths, &expected);
}

#[test]
fn inlined_fields_are_pruned_by_json_path() {
    let mut expected = pod();
    expected["spec"]["volumes"][0]["secret"].as_object_mut().unwrap().remove("optional");
    without(&pod(), &["spec.volumes.secret.optional"], &expected);
    expected["spec"]["volumes"][0].as_object_mut().unwrap().remove("secret");
    without(&pod(), &["spec.volumes.secret"], &expected);
}

#[test]
fn all_but_some_fields_can_be_pruned() {
    let mut metadata = pod()["metadata"].clone();
    metadata.as_object_mut().unwrap().remove("managedFields");
    let table = [
        (vec![], json!({ "metadata": metadata })),
        (
            vec!["spec.containers.resources.limits.cpu", "spec.volumes.secret.secretName"],
            json!({"metadata": metadata, "spec": {
                "containers": [{}, {"resources": {"limits": {"cpu": "1"}}}],
                "volumes": [{"secret": {"secretName": "x"}}]
            }}),
        ),
        (vec!["status", "metadata.managedFields"], json!({"metadata": pod()["metadata"]})),
    ];
    let decoded = |body: &[u8]| decode::<Value>(&Encoded::protobuf(body), &kind()).unwrap();
    for (kept, expected) in table {
        let paths = kept.iter().map(|path| path.parse::<FieldPath>().unwrap());
        let read_options = ReadOptions::keeping(paths);
        let cut = Cut::compile(schema::builtin(), kind().message().unwrap(), &read_options.cut).unwrap();
        let body = cut.copy(&message(&pod())).unwrap();
        assert_eq!(decoded(&body), decoded(&message(&expected)), "keeping {kept:?}");
    }
    let misspelt = Paths::all_but(["spec.nodename".parse().unwrap()]);
    let error = Cut::compile(schema::builtin(), kind().message().unwrap(), &misspelt).unwrap_err();
    assert_eq!(error.name, "nodename");
}

#[test]
fn unknown_paths_are_rejected_by_name() {
    for (path, message, name) in [
        ("spec.nodename", "core.v1.PodSpec", "nodename"),
        ("spec.nodeName.x", "a value without fields", "x"),
        ("metadata.labels.app.x", "a value without fields", "x"),
    ] {
        let paths: Paths = [path.parse::<FieldPath>().unwrap()].into_iter().collect();
        let error = Cut::compile(schema::builtin(), kind().message().unwrap(), &paths).unwrap_err();
        assert_eq!((error.message, error.name.as_str()), (message, name));
    }
}

#[test]
fn a_truncated_message_is_rejected() {
    let whole = message(&pod());
    let cut = cut(&["metadata.managedFields", "spec.containers.env"]);
    for end in 0..whole.len() {
        // A message that ends between fields is valid.
        let head =
            protobuf::read_object_meta(&whole[..end], Annotations::Keep, &mut ObjectMetaBuilder::default());
        let copy = cut.copy(&whole[..end]);
        assert!(head.is_err() || copy.is_ok(), "cut at {end}: {copy:?}");
    }
}

proptest! {
    #[test]
    fn metadata_and_pruning_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = protobuf::read_object_meta(&bytes, Annotations::Keep, &mut ObjectMetaBuilder::default());
        let _ = cut(&["metadata.managedFields", "spec.containers.env", "metadata.labels.app"]).copy(&bytes);
    }

    #[test]
    fn labels_and_names_round_trip(
        name in "\\PC{0,20}",
        labels in prop::collection::btree_map("\\PC{1,10}", "\\PC{0,10}", 0..5),
    ) {
        let object = json!({"metadata": {"name": name, "labels": labels}});
        let head = protobuf::read_object_meta(&message(&object), Annotations::Skip, &mut ObjectMetaBuilder::default()).unwrap();
        prop_assert_eq!(head.key().name(), name);
        let read: Vec<_> = head.labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        prop_assert_eq!(read, labels.into_iter().collect::<Vec<_>>());
    }
}
