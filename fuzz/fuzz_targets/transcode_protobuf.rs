//! For protobuf of any kind: transcoding to JSON, back and to JSON again gives the same value.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use serde_json::Value;
use watchkeeper_core::Encoded;
use watchkeeper_fuzz::kind;
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{DecodeError, Kind};

fn json_of(message: &[u8], kind: &Kind) -> Result<Vec<u8>, DecodeError> {
    let mut json = b"before".to_vec();
    let written = transcode::to_json(&Encoded::protobuf(message), kind, Types::Omitted, &mut json);
    let json = json.strip_prefix(b"before").expect("the output is appended").to_vec();
    assert!(written.is_ok() || json.is_empty(), "a failed transcode leaves no output");
    written.map(|()| json)
}

/// Removes zero values, which may or may not be in the JSON: a pointer to a zero time is null, which is read as no pointer;
/// a 32-bit field whose encoding has more than 32 bits is truncated, possibly to zero.
fn without_zeros(value: Value) -> Value {
    match value {
        Value::Array(elements) => elements.into_iter().map(without_zeros).collect(),
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, value)| !value.is_null() && value.as_f64() != Some(0.0))
            .map(|(key, value)| (key, without_zeros(value)))
            .collect(),
        other => other,
    }
}

fuzz_target!(|data: &[u8]| {
    let (kind, message) = kind(data);
    let Ok(json) = json_of(message, kind) else { return };
    let text = str::from_utf8(&json).expect("JSON is UTF-8");
    serde_json::from_str::<IgnoredAny>(text).expect("the output is JSON");

    // The JSON of some messages is invalid: a map can have a duplicate key, a string can be an invalid quantity.
    let Ok(back) = transcode::to_protobuf(&Encoded::json(json.clone()), kind) else { return };
    let again = json_of(&back, kind).expect("our own protobuf can be read");
    let [Ok(first), Ok(second)] = [&json, &again].map(|json| serde_json::from_slice(json)) else {
        return; // raw JSON can have numbers and depths that serde_json rejects
    };
    assert_eq!(without_zeros(second), without_zeros(first));
});
