//! Protobuf lists: chunking changes neither the result nor the error; decoding returns what was encoded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_core::ListMeta;
use watchkeeper_fuzz::{choice, chunks, put};
use watchkeeper_wire::protobuf::{self, Envelope};
use watchkeeper_wire::{Limits, Malformed, Problem};

/// Limits low enough for fuzz inputs to exceed.
const LIMITS: Limits = Limits { object_bytes: 128, envelope_bytes: 64, depth: 24 };

type Outcome = (Vec<Vec<u8>>, Result<ListMeta, Malformed>);

fn split(body: &[u8], choice: u8, limits: Limits) -> Outcome {
    let (mut split, mut items) = (protobuf::ListSplitter::new(limits), Vec::new());
    for chunk in chunks(choice, body) {
        split.push(chunk);
        loop {
            match split.next() {
                Ok(Some(item)) => items.push(item.to_vec()),
                Ok(None) => break,
                Err(error) => return (items, Err(error)),
            }
        }
    }
    (items, split.finish())
}

/// Encodes a list of items of varying size, whose resource version is the first item, and splits it.
fn round_trip(choice: u8, data: &[u8]) {
    let items: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    let version = String::from_utf8_lossy(items[0]);
    let (mut metadata, mut list) = (Vec::new(), Vec::new());
    put(&mut metadata, 2, version.as_bytes());
    put(&mut list, 1, &metadata);
    items.iter().for_each(|item| put(&mut list, 2, item));
    let body = protobuf::wrap("v1", "PodList", &list);
    assert_eq!(Envelope::open(&body).map(|envelope| envelope.message), Ok(&*list));

    let (found, end) = split(&body, choice, Limits::DEFAULT);
    let end = end.expect("valid list");
    assert_eq!(found, items);
    assert_eq!((end.resource_version, &*end.kind), (version.as_ref().into(), "PodList"));
}

fuzz_target!(|data: &[u8]| {
    let (choice, body) = choice(data);
    for limits in [Limits::DEFAULT, LIMITS] {
        let whole = split(body, 0, limits);
        assert_eq!(split(body, choice, limits), whole, "in other chunks");
        assert_eq!(split(body, 1, limits), whole, "byte by byte");
        if let (Ok(_), Err(error)) = (&whole.1, Envelope::open(body)) {
            // The splitter ignores the content type of the envelope, so only that may be invalid.
            let of_content_type =
                matches!(error.problem, Problem::InvalidUtf8 | Problem::WrongWireType { field: 4, .. });
            assert!(of_content_type, "{error}");
        }
    }
    round_trip(choice, body);
});
