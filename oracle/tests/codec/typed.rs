//! The types of `watchkeeper-kinds` compared with Go's: protobuf and JSON through a type equal what Go writes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use watchkeeper_oracle::{random_objects, testdata};
use watchkeeper_wire::protobuf::{self, Envelope};
use watchkeeper_wire::typed::{self, Message};
use watchkeeper_wire::{Kind, Malformed};

use crate::{Outcome, PER_KIND, Tally, json_of, show_bytes, show_json, text, value};

#[path = "../../../crates/watchkeeper-kinds/tests/api_types/every_kind.rs"]
#[rustfmt::skip] // generated
mod every_kind;

/// The published samples that have no type: parameters of requests, and the frame of a watch.
const SAMPLES_WITHOUT_TYPE: [&str; 7] = [
    "v1 CreateOptions",
    "v1 DeleteOptions",
    "v1 GetOptions",
    "v1 ListOptions",
    "v1 PatchOptions",
    "v1 UpdateOptions",
    "v1 WatchEvent",
];
/// The kinds of random objects that have no type: also lists.
const RANDOM_WITHOUT_TYPE: [&str; 11] = [
    "apiextensions.k8s.io/v1 CustomResourceDefinitionList",
    "meta.k8s.io/v1 PartialObjectMetadataList",
    "v1 CreateOptions",
    "v1 DeleteOptions",
    "v1 GetOptions",
    "v1 List",
    "v1 ListOptions",
    "v1 PatchOptions",
    "v1 PodList",
    "v1 UpdateOptions",
    "v1 WatchEvent",
];

/// Receives every kind that has a type.
pub(crate) trait Visit {
    fn kind<T: Message>(&mut self, group: &str, version: &str, kind: &str);
}

/// Decodes a message or JSON as a type, and encodes it in both forms.
struct Codec {
    of_protobuf: fn(&[u8]) -> Result<Both, Malformed>,
    of_json: fn(&[u8]) -> Result<Both, Malformed>,
}

/// A typed object in both encodings; the protobuf has no envelope.
struct Both {
    pb: Vec<u8>,
    json: Vec<u8>,
}

impl Both {
    fn of<T: Message>(object: &T) -> Self {
        Self { pb: typed::to_protobuf(object), json: typed::to_json(object) }
    }
}

/// The codecs of all types.
#[derive(Default)]
struct Codecs(BTreeMap<(String, String, String), Codec>);

impl Visit for Codecs {
    fn kind<T: Message>(&mut self, group: &str, version: &str, kind: &str) {
        let codec = Codec {
            of_protobuf: |message| typed::from_protobuf::<T>(message).map(|object| Both::of(&object)),
            of_json: |json| typed::from_json::<T>(json).map(|object| Both::of(&object)),
        };
        self.0.insert((group.to_owned(), version.to_owned(), kind.to_owned()), codec);
    }
}

impl Codecs {
    fn new() -> Self {
        let mut codecs = Self::default();
        every_kind::every_kind(&mut codecs);
        codecs
    }

    fn get(&self, group: &str, version: &str, kind: &str) -> Option<&Codec> {
        self.0.get(&(group.to_owned(), version.to_owned(), kind.to_owned()))
    }
}

/// Compares protobuf byte for byte, and JSON as values.
///
/// A type does not distinguish nil from empty where Go's types do: a pointer to a zero time, an empty list of verbs, and empty
/// bytes in a map. Where the bytes differ, the values have to be equal apart from that, and the case is counted.
#[derive(Default)]
struct Comparison {
    tally: Tally,
    nil_or_empty: usize,
}

impl Comparison {
    fn protobuf(&mut self, what: &str, kind: &Kind, ours: Result<Vec<u8>, String>, go: &Vec<u8>) -> Outcome {
        if let Ok(ours) = &ours
            && ours != go
            && equal_but_for_nil(&json_of(ours, kind)?, &json_of(go, kind)?)
        {
            self.nil_or_empty += 1;
            self.tally.compared += 1;
            return Ok(());
        }
        self.tally.compare(what, ours, go, show_bytes);
        Ok(())
    }

    fn json(&mut self, what: &str, ours: Result<Value, String>, go: &Value) {
        if let Ok(ours) = &ours
            && ours != go
            && equal_but_for_nil(ours, go)
        {
            self.nil_or_empty += 1;
            self.tally.compared += 1;
            return;
        }
        self.tally.compare(what, ours, go, show_json);
    }

    fn finish(self, min_compared: usize) {
        let (compared, nil_or_empty) = (self.tally.compared, self.nil_or_empty);
        self.tally.finish(min_compared);
        println!("{nil_or_empty} of {compared} differ in nil or empty");
        assert!(nil_or_empty * 10 < compared, "{nil_or_empty} of {compared} differ in nil or empty");
    }
}

/// Compares values; null is equal to an absent field, an empty string and an empty list.
fn equal_but_for_nil(ours: &Value, go: &Value) -> bool {
    let is_nil = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        _ => false,
    };
    match (ours, go) {
        (Value::Object(ours), Value::Object(go)) => {
            let keys: BTreeSet<&String> = ours.keys().chain(go.keys()).collect();
            let field = |object: &'_ serde_json::Map<String, Value>, key: &String| {
                object.get(key).cloned().unwrap_or_default()
            };
            keys.into_iter().all(|key| equal_but_for_nil(&field(ours, key), &field(go, key)))
        }
        (Value::Array(ours), Value::Array(go)) if ours.len() == go.len() => {
            ours.iter().zip(go).all(|(ours, go)| equal_but_for_nil(ours, go))
        }
        _ => ours == go || (is_nil(ours) && is_nil(go) && (ours.is_null() || go.is_null())),
    }
}

/// Decodes a protobuf body as a type, and compares its encodings with that body and with Go's JSON of it.
fn compare_protobuf(
    tally: &mut Comparison,
    what: &str,
    kind: &Kind,
    codec: &Codec,
    go: (&Vec<u8>, &Value),
) -> Outcome {
    let (pb, json) = go;
    let ours = (codec.of_protobuf)(Envelope::open(pb)?.message).map_err(text);
    let (of_pb, of_json) = ours.map_or_else(
        |error| (Err(error.clone()), Err(error)),
        |both| (Ok(protobuf::wrap(kind.api_version(), kind.kind(), &both.pb)), value(&both.json)),
    );
    tally.protobuf(&format!("{what}: protobuf of typed protobuf"), kind, of_pb, pb)?;
    tally.json(&format!("{what}: JSON of typed protobuf"), of_json, json);
    Ok(())
}

#[test]
fn the_published_sample_of_every_kind_passes_through_its_type_unchanged() -> Outcome {
    let (codecs, mut tally) = (Codecs::new(), Comparison::default());
    let (mut without_type, mut with_type) = (Vec::new(), 0);
    for sample in testdata()? {
        let sample = sample?;
        let kind = Kind::new(&sample.group, &sample.version, &sample.kind);
        let Some(codec) = codecs.get(&sample.group, &sample.version, &sample.kind) else {
            without_type.push(format!("{} {}", kind.api_version(), kind.kind()));
            continue;
        };
        with_type += 1;
        let what = kind.name().to_string();
        compare_protobuf(&mut tally, &what, &kind, codec, (&sample.pb, &value(&sample.json)?))?;
        // The file is indented, and raw JSON fields would keep the indentation.
        let json = serde_json::from_slice::<Value>(&sample.json)?.to_string();
        let ours = (codec.of_json)(json.as_bytes()).map_err(text)?;
        let body = protobuf::wrap(kind.api_version(), kind.kind(), &ours.pb);
        tally.protobuf(&format!("{what}: protobuf of typed JSON"), &kind, Ok(body), &sample.pb)?;
        let (ours, go) = (value(&ours.json), value(&sample.json)?);
        tally.json(&format!("{what}: JSON of typed JSON"), ours, &go);
    }
    assert_eq!(
        without_type,
        SAMPLES_WITHOUT_TYPE,
        "kinds without a type, of {}",
        with_type + without_type.len()
    );
    tally.finish(4 * with_type);
    Ok(())
}

#[test]
fn random_objects_of_every_kind_pass_through_their_types_as_in_go() -> Outcome {
    let (codecs, mut tally) = (Codecs::new(), Comparison::default());
    let (mut without_type, mut with_type) = (BTreeSet::new(), 0);
    for object in random_objects(PER_KIND)? {
        let object = object?;
        let kind = Kind::new(&object.group, &object.version, &object.kind);
        let Some(codec) = codecs.get(&object.group, &object.version, &object.kind) else {
            without_type.insert(format!("{} {}", kind.api_version(), kind.kind()));
            continue;
        };
        with_type += 1;
        let what = format!("{} #{}", kind.name(), object.index);
        compare_protobuf(&mut tally, &what, &kind, codec, (&object.pb, &value(&object.json_of_pb)?))?;

        let ours = (codec.of_json)(&object.json).map_err(text);
        let what = format!("{what}: of {}", object.json.escape_ascii());
        match &object.of_json {
            Some(go) => {
                let (pb, json) = ours.map_or_else(
                    |error| (Err(error.clone()), Err(error)),
                    |both| (Ok(protobuf::wrap(kind.api_version(), kind.kind(), &both.pb)), value(&both.json)),
                );
                tally.protobuf(&format!("{what}: protobuf of typed JSON"), &kind, pb, &go.pb)?;
                let of_pb = value(&go.json_of_pb)?;
                tally.json(&format!("{what}: JSON of typed JSON"), json, &of_pb);
            }
            None => {
                let what = format!("{what}: rejected by Go");
                tally.tally.compare(&what, Ok(ours.is_err()), &true, bool::to_string);
            }
        }
    }
    assert_eq!(Vec::from_iter(without_type), RANDOM_WITHOUT_TYPE, "kinds without a type");
    tally.finish(3 * with_type);
    Ok(())
}
