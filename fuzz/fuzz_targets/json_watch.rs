//! JSON watches: chunking changes neither the result nor the error; the events equal those of serde_json.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::value::RawValue;
use watchkeeper_core::WatchEventType;
use watchkeeper_fuzz::{choice, chunks, is_stricter};
use watchkeeper_wire::{Limits, Malformed, json};

/// Limits low enough for fuzz inputs to exceed.
const LIMITS: Limits = Limits { object_bytes: 256, envelope_bytes: 64, depth: 24 };

type Outcome = (Vec<(WatchEventType, Vec<u8>)>, Result<(), Malformed>);

#[derive(Deserialize)]
struct Event<'a> {
    r#type: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

fn frame(body: &[u8], choice: u8, limits: Limits) -> Outcome {
    let (mut frames, mut events) = (json::WatchFrames::new(limits), Vec::new());
    for chunk in chunks(choice, body) {
        frames.push(chunk);
        loop {
            match frames.next() {
                Ok(Some(frame)) => events.push((frame.kind, frame.object.to_vec())),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(frames.next(), Err(error.clone()), "errors are sticky");
                    return (events, Err(error));
                }
            }
        }
    }
    (events, frames.finish())
}

fn compare_with_serde(body: &[u8], (events, end): &Outcome) {
    let found = serde_json::Deserializer::from_slice(body).into_iter::<Event<'_>>();
    let found: Vec<_> = found
        .map_while(Result::ok)
        .map_while(|event| Some((event.r#type.parse().ok()?, event.object.get().as_bytes().to_vec())))
        .take_while(|(_, object)| object.starts_with(b"{"))
        .collect();
    let both = events.len().min(found.len());
    assert_eq!(events[..both], found[..both]);
    if events.len() < found.len() {
        let error = end.as_ref().expect_err("all events are framed, or there is an error");
        assert!(is_stricter(&error.problem), "{error}");
    }
}

fuzz_target!(|data: &[u8]| {
    let (choice, body) = choice(data);
    for limits in [Limits::DEFAULT, LIMITS] {
        let whole = frame(body, 0, limits);
        assert_eq!(frame(body, choice, limits), whole, "in other chunks");
        assert_eq!(frame(body, 1, limits), whole, "byte by byte");
        compare_with_serde(body, &whole);
    }
});
