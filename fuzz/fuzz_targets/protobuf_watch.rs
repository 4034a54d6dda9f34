//! Protobuf watches: chunking changes neither the result nor the error; decoding returns what was encoded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_core::WatchEventType;
use watchkeeper_fuzz::{choice, chunks, put};
use watchkeeper_wire::{Limits, Malformed, protobuf};

/// Limits low enough for fuzz inputs to exceed.
const LIMITS: Limits = Limits { object_bytes: 128, envelope_bytes: 64, depth: 24 };
const KINDS: [WatchEventType; 3] = [WatchEventType::Added, WatchEventType::Bookmark, WatchEventType::Error];

type Outcome = (Vec<(WatchEventType, Vec<u8>)>, Result<(), Malformed>);

fn frame(body: &[u8], choice: u8, limits: Limits) -> Outcome {
    let (mut frames, mut events) = (protobuf::WatchFrames::new(limits), Vec::new());
    for chunk in chunks(choice, body) {
        frames.push(chunk);
        loop {
            match frames.next() {
                Ok(Some(frame)) => events.push((frame.kind, frame.object.to_vec())),
                Ok(None) => break,
                Err(error) => return (events, Err(error)),
            }
        }
    }
    (events, frames.finish())
}

/// Encodes a watch with objects of varying size, and frames it.
fn round_trip(choice: u8, data: &[u8]) {
    let (mut body, mut expected) = (Vec::new(), Vec::new());
    for (object, kind) in data.split(|byte| *byte == b'\n').zip(KINDS.into_iter().cycle()) {
        let (mut raw, mut event) = (Vec::new(), Vec::new());
        put(&mut raw, 1, &protobuf::wrap("v1", "Pod", object));
        put(&mut event, 1, kind.as_str().as_bytes());
        put(&mut event, 2, &raw);
        body.extend_from_slice(&(event.len() as u32).to_be_bytes());
        body.extend_from_slice(&event);
        expected.push((kind, object.to_vec()));
    }
    assert_eq!(frame(&body, choice, Limits::DEFAULT), (expected, Ok(())));
}

fuzz_target!(|data: &[u8]| {
    let (choice, body) = choice(data);
    for limits in [Limits::DEFAULT, LIMITS] {
        let whole = frame(body, 0, limits);
        assert_eq!(frame(body, choice, limits), whole, "in other chunks");
        assert_eq!(frame(body, 1, limits), whole, "byte by byte");
    }
    round_trip(choice, body);
});
