//! JSON of any kind to protobuf, to JSON, and again to protobuf: the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use watchkeeper_core::Encoded;
use watchkeeper_fuzz::kind;
use watchkeeper_wire::DecodeError;
use watchkeeper_wire::transcode::{self, Types};

fuzz_target!(|data: &[u8]| {
    let (kind, body) = kind(data);
    let Ok(message) = transcode::to_protobuf(&Encoded::json(body), kind) else { return };
    let text = str::from_utf8(body).expect("JSON is UTF-8");
    serde_json::from_str::<IgnoredAny>(text).expect("what is taken is JSON");

    let mut json = Vec::new();
    transcode::to_json(&Encoded::protobuf(&*message), kind, Types::Omitted, &mut json)
        .expect("our own protobuf can be read");
    match transcode::to_protobuf(&Encoded::json(json), kind) {
        Ok(again) => assert_eq!(again, message),
        // An offset can lead into a year that has not four digits. Go writes it too, and does not read it either.
        Err(DecodeError::Malformed(error)) => {
            assert!(error.to_string().contains("expected a time"), "{error}");
        }
        Err(error) => panic!("our own JSON cannot be read: {error}"),
    }
});
