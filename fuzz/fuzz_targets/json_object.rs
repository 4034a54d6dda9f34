//! JSON objects: metadata and pruned body equal those of serde_json.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::Value;
use watchkeeper_core::{ObjectMeta, ObjectMetaBuilder, Timestamp};
use watchkeeper_fuzz::{is_stricter, paths, remove, set};
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{Annotations, FieldPath, Kind, Malformed, ReadOptions, decode, json};

#[derive(Deserialize)]
struct Object {
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
    labels: Option<BTreeMap<String, Option<String>>>,
    annotations: Option<BTreeMap<String, Option<String>>>,
    owner_references: Option<Vec<Option<Owner>>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Owner {
    api_version: Option<String>,
    kind: Option<String>,
    name: Option<String>,
    uid: Option<String>,
    controller: Option<bool>,
}

/// Parses a time as in metadata, where Go's zero time counts as unset; `Err` if it is invalid.
fn time(text: Option<&str>) -> Result<Option<Timestamp>, ()> {
    let time = text.map(|text| text.parse::<Timestamp>().map_err(drop)).transpose()?;
    Ok(time.filter(|time| *time != Timestamp::GO_ZERO))
}

fn pairs(map: Option<&BTreeMap<String, Option<String>>>) -> BTreeMap<&str, &str> {
    map.into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_deref().unwrap_or_default()))
        .collect()
}

fn compare_metadata(object: &[u8], ours: &Result<ObjectMeta, Malformed>) {
    let Ok(Object { metadata: Some(expected) }) = serde_json::from_slice(object) else { return };
    let times = [time(expected.creation_timestamp.as_deref()), time(expected.deletion_timestamp.as_deref())];
    let [Ok(created), Ok(deleted)] = times else {
        assert!(ours.is_err(), "invalid times are rejected");
        return;
    };
    let metadata = match ours {
        Ok(metadata) => metadata,
        Err(error) => return assert!(is_stricter(&error.problem), "{error}"),
    };
    let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
    assert_eq!(metadata.key().name(), text(&expected.name));
    assert_eq!(metadata.key().namespace().unwrap_or_default(), text(&expected.namespace));
    assert_eq!(metadata.uid(), text(&expected.uid));
    assert_eq!(metadata.resource_version().to_string(), text(&expected.resource_version));
    assert_eq!(metadata.generation(), expected.generation.unwrap_or_default());
    assert_eq!((metadata.creation_timestamp(), metadata.deletion_timestamp()), (created, deleted));
    assert_eq!(metadata.labels().collect::<BTreeMap<_, _>>(), pairs(expected.labels.as_ref()));
    assert_eq!(metadata.annotations().collect::<BTreeMap<_, _>>(), pairs(expected.annotations.as_ref()));
    let owners: Vec<Owner> =
        expected.owner_references.unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect();
    assert_eq!(metadata.owner_references().len(), owners.len());
    for (ours, owner) in metadata.owner_references().zip(owners) {
        let parts = [ours.api_version, ours.kind, ours.name, ours.uid];
        assert_eq!(
            parts.map(str::to_owned),
            [owner.api_version, owner.kind, owner.name, owner.uid].map(|field| text(&field))
        );
        assert_eq!(ours.controller, owner.controller.unwrap_or_default());
    }
}

fn compare_bodies(object: &[u8], paths: &[FieldPath]) {
    let Ok(mut expected @ Value::Object(_)) = serde_json::from_slice(object) else { return };
    for path in paths {
        remove(&mut expected, &path.segments());
    }
    let cut = json::cut(object, &set(paths)).expect("serde_json accepts it");
    assert_eq!(serde_json::from_slice::<Value>(&cut).expect("cut.K1"), expected);

    let read_options =
        ReadOptions { annotations: Annotations::Keep, cut: set(paths), ..ReadOptions::default() };
    let Ok(kept) = json::read_object(object, &read_options, &mut ObjectMetaBuilder::default()) else {
        return;
    };
    for name in ["apiVersion", "kind"] {
        remove(&mut expected, &[name]);
    }
    assert_eq!(serde_json::from_slice::<Value>(&kept.encoded.body).expect("cut.K1"), expected);

    // The stored body can be transcoded with its type, and decoded.
    let kind = Kind::new("example.com", "v1", "Widget");
    expected["apiVersion"] = kind.api_version().into();
    expected["kind"] = kind.kind().into();
    let mut typed = Vec::new();
    transcode::to_json(&kept.encoded, &kind, Types::Named, &mut typed).expect("valid object");
    assert_eq!(serde_json::from_slice::<Value>(&typed).expect("valid JSON"), expected);
    assert_eq!(decode::<Value>(&kept.encoded, &kind).expect("valid JSON"), expected);
}

fuzz_target!(|data: &[u8]| {
    let (paths, object) = paths(data);
    let mut builder = ObjectMetaBuilder::default();
    let metadata = json::read_object_meta(object, Annotations::Keep, &mut builder);
    compare_metadata(object, &metadata);
    compare_bodies(object, &paths);

    // A builder can be reused after an error.
    assert_eq!(json::read_object_meta(object, Annotations::Keep, &mut builder), metadata);
    let read_options =
        ReadOptions { annotations: Annotations::Keep, cut: set(&paths), ..ReadOptions::default() };
    let kept = json::read_object(object, &read_options, &mut builder);
    if let Ok(kept) = &kept {
        assert_eq!(Ok(&kept.metadata), metadata.as_ref());
    }
    if metadata.is_ok() && serde_json::from_slice::<Value>(object).is_ok() {
        assert!(kept.is_ok(), "a body can be pruned if its metadata is valid and all of it is JSON");
    }
    if let Ok((api_version, kind)) = json::read_type(object)
        && let Ok(value) = serde_json::from_slice::<Value>(object)
    {
        assert_eq!(
            (value["apiVersion"].as_str(), value["kind"].as_str()),
            (Some(&*api_version), Some(&*kind))
        );
    }
});
