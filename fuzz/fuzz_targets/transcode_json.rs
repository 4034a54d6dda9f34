//! For JSON of any kind: transcoding to protobuf, to JSON and to protobuf again gives the same bytes.
//!
//! Exceptions, which are the same in Go: a pointer to a zero time, or to schema `items` that are neither a schema nor a
//! list of schemas, is an empty message. Its JSON is null, which is read as no message. A null value in a map of bytes is
//! written as an absent value, which is read as empty bytes, which are written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use serde_json::Value;
use watchkeeper_core::Encoded;
use watchkeeper_fuzz::kind;
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{DecodeError, Kind};

fn json_of(message: &[u8], kind: &Kind) -> Vec<u8> {
    let mut json = Vec::new();
    transcode::to_json(&Encoded::protobuf(message), kind, Types::Omitted, &mut json)
        .expect("our own protobuf can be read");
    json
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Array(elements) => elements.into_iter().map(without_nulls).collect(),
        Value::Object(members) => {
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            members.map(|(key, value)| (key, without_nulls(value))).collect()
        }
        other => other,
    }
}

fuzz_target!(|data: &[u8]| {
    let (kind, body) = kind(data);
    let Ok(message) = transcode::to_protobuf(&Encoded::json(body), kind) else { return };
    let text = str::from_utf8(body).expect("JSON is UTF-8");
    serde_json::from_str::<IgnoredAny>(text).expect("accepted input is JSON");

    let json = json_of(&message, kind);
    match transcode::to_protobuf(&Encoded::json(json.clone()), kind) {
        Ok(again) if again == message => {}
        Ok(again) => {
            let shorter = json_of(&again, kind);
            assert!(shorter.len() < json.len() || shorter == json, "{message:?} became {again:?}");
            let third = transcode::to_protobuf(&Encoded::json(shorter.clone()), kind);
            assert_eq!(third.expect("our own JSON can be read"), again);
            let [Ok(before), Ok(after)] = [json, shorter].map(|json| serde_json::from_slice(&json)) else {
                return; // raw JSON can have numbers and depths that serde_json rejects
            };
            assert_eq!(without_nulls(after), without_nulls(before));
        }
        // With an offset, the year in UTC can have more or fewer than four digits. Go also writes such a time, and does
        // not read it either.
        Err(DecodeError::Malformed(error)) => {
            assert!(error.to_string().contains("expected a time"), "{error}");
        }
        Err(error) => panic!("failed to read our own JSON: {error}"),
    }
});
