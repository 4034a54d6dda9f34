//! The types of every kind: both encodings, serde, and conversions.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod conversions;
mod decoding;
mod every_kind;
mod memory;
mod objects;
#[path = "../apply_types/sample.rs"]
mod sample;

use std::error::Error;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json, to_value};
use watchkeeper_core::Encoded;
use watchkeeper_kinds::api::core::v1::{Node, Pod};
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::typed::{Message, from_json, from_protobuf, to_json, to_protobuf};
use watchkeeper_wire::{DecodeError, Kind, decode};

use every_kind::every_kind;

/// A visitor of all kinds.
trait Visit {
    fn kind<T>(&mut self, group: &str, version: &str, kind: &str)
    where
        T: Message + Clone + PartialEq + Debug + Serialize + DeserializeOwned;
}

/// A sample object of a kind in both encodings.
struct Sample {
    kind: Kind,
    value: Value,
    json: Encoded,
    protobuf: Encoded,
}

impl Sample {
    fn of(group: &str, version: &str, kind: &str) -> Self {
        let value = sample::of(group, version, kind, sample::Fields::All);
        let json = Encoded::json(value.to_string().into_bytes());
        let kind = Kind::new(group, version, kind);
        let protobuf = Encoded::protobuf(transcode::to_protobuf(&json, &kind).unwrap());
        Self { kind, value, json, protobuf }
    }

    /// Returns the sample as `T`.
    fn decoded<T: Message>(&self) -> T {
        from_json(&self.json.body).unwrap()
    }
}

/// Returns the JSON of a generated type without its `apiVersion` and `kind`, which it must have if it is a kind.
fn untyped<T: Message>(object: &T) -> Value {
    let mut value = json_value(&to_json(object));
    if let Some((api_version, kind)) = T::TYPE {
        let members = value.as_object_mut().unwrap();
        assert_eq!(members.remove("apiVersion").unwrap(), api_version);
        assert_eq!(members.remove("kind").unwrap(), kind);
    }
    value
}

fn json_value(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap()
}

/// Returns an error with its sources.
fn chain(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}

/// `typed.M1`
#[test]
fn both_encodings_decode_to_equal_values() {
    struct Equal(usize);
    impl Visit for Equal {
        fn kind<T>(&mut self, group: &str, version: &str, kind: &str)
        where
            T: Message + Clone + PartialEq + Debug + Serialize + DeserializeOwned,
        {
            let sample = Sample::of(group, version, kind);
            let object: T = from_json(&sample.json.body).unwrap();
            assert_eq!(object, from_protobuf::<T>(&sample.protobuf.body).unwrap());
            assert_eq!(object, object.clone());
            assert_eq!(object == T::default(), sample.value == json!({}), "{kind}");
            self.0 += 1;
        }
    }
    let mut equal = Equal(0);
    every_kind(&mut equal);
    assert!(equal.0 > 150, "{} kinds", equal.0);
}

/// `typed.M2`
#[test]
fn a_decoded_object_is_encoded_as_it_was() {
    struct Same;
    impl Visit for Same {
        fn kind<T>(&mut self, group: &str, version: &str, kind: &str)
        where
            T: Message + Clone + PartialEq + Debug + Serialize + DeserializeOwned,
        {
            let sample = Sample::of(group, version, kind);
            let object = sample.decoded::<T>();
            assert_eq!(untyped(&object), sample.value, "{kind}");
            assert_eq!(to_protobuf(&object), &*sample.protobuf.body, "{kind}");

            let types = if T::TYPE.is_some() { Types::Named } else { Types::Omitted };
            let mut transcoded = Vec::new();
            transcode::to_json(&sample.protobuf, &sample.kind, types, &mut transcoded).unwrap();
            let json = to_json(&object);
            assert_eq!(String::from_utf8(json), String::from_utf8(transcoded), "{kind}");
        }
    }
    every_kind(&mut Same);
}

/// `typed.M2`
#[test]
fn an_empty_object_is_encoded_as_go_does() {
    struct Empty;
    impl Visit for Empty {
        fn kind<T>(&mut self, group: &str, version: &str, kind: &str)
        where
            T: Message + Clone + PartialEq + Debug + Serialize + DeserializeOwned,
        {
            let (empty, kind) = (Encoded::json(b"{}".as_slice()), Kind::new(group, version, kind));
            let message = to_protobuf(&T::default());
            assert_eq!(message, transcode::to_protobuf(&empty, &kind).unwrap(), "{kind:?}");
            let mut json = Vec::new();
            let types = if T::TYPE.is_some() { Types::Named } else { Types::Omitted };
            transcode::to_json(&Encoded::protobuf(message), &kind, types, &mut json).unwrap();
            let [ours, transcoded] = [to_json(&T::default()), json].map(|json| json_value(&json));
            assert_eq!(ours, transcoded); // transcoding adds absent fields last
            assert_eq!(from_json::<T>(&to_json(&T::default())).unwrap(), T::default());
        }
    }
    every_kind(&mut Empty);
}

#[test]
fn every_kind_round_trips_through_serde() {
    struct RoundTrip;
    impl Visit for RoundTrip {
        fn kind<T>(&mut self, group: &str, version: &str, kind: &str)
        where
            T: Message + Clone + PartialEq + Debug + Serialize + DeserializeOwned,
        {
            let object = Sample::of(group, version, kind).decoded::<T>();
            let value = to_value(&object).unwrap();
            assert_eq!(value, json_value(&to_json(&object)));
            assert_eq!(serde_json::from_value::<T>(value).unwrap(), object);
            let text = serde_json::to_string_pretty(&object).unwrap();
            assert_eq!(serde_json::from_str::<T>(&text).unwrap(), object);
            assert_eq!(serde_json::from_reader::<_, T>(text.as_bytes()).unwrap(), object);
        }
    }
    every_kind(&mut RoundTrip);
}

#[test]
fn every_kind_decodes_from_the_store() {
    struct Stored;
    impl Visit for Stored {
        fn kind<T>(&mut self, group: &str, version: &str, kind: &str)
        where
            T: Message + Clone + PartialEq + Debug + Serialize + DeserializeOwned,
        {
            let sample = Sample::of(group, version, kind);
            for encoded in [&sample.json, &sample.protobuf] {
                assert_eq!(decode::<T>(encoded, &sample.kind).unwrap(), sample.decoded::<T>());
            }
        }
    }
    every_kind(&mut Stored);
}

#[test]
fn another_kind_is_an_error_that_names_both() {
    struct Other;
    impl Visit for Other {
        fn kind<T>(&mut self, group: &str, version: &str, kind: &str)
        where
            T: Message + Clone + PartialEq + Debug + Serialize + DeserializeOwned,
        {
            let sample = Sample::of(group, version, kind);
            for encoded in [&sample.json, &sample.protobuf] {
                let (error, expected) = match T::NAME {
                    "core.v1.Pod" => (decode::<Node>(encoded, &sample.kind).unwrap_err(), "core.v1.Node"),
                    _ => (decode::<Pod>(encoded, &sample.kind).unwrap_err(), "core.v1.Pod"),
                };
                assert!(matches!(error, DecodeError::Json(_) | DecodeError::Mismatch(_)));
                let error = chain(&error);
                let named = format!("expected {expected}, found {}", sample.kind.name());
                assert!(error.contains(&named), "{error}");
            }
        }
    }
    every_kind(&mut Other);

    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}});
    let error = serde_json::from_value::<Pod>(node.clone()).unwrap_err();
    assert_eq!(error.to_string(), "expected Pod of v1, found Node of v1");
    let error = serde_json::from_str::<Pod>(&node.to_string()).unwrap_err();
    assert!(error.to_string().starts_with("expected Pod of v1, found Node of v1"), "{error}");
}
