//! JSON lists: chunking changes neither the result nor the error; the items equal those of serde_json.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::value::RawValue;
use watchkeeper_core::ListMeta;
use watchkeeper_fuzz::{choice, chunks, is_stricter};
use watchkeeper_wire::{Limits, Malformed, json};

/// Limits low enough for fuzz inputs to exceed.
const LIMITS: Limits = Limits { object_bytes: 512, envelope_bytes: 256, depth: 24 };

type Outcome = (Vec<Vec<u8>>, Result<ListMeta, Malformed>);

#[derive(Deserialize)]
struct List<'a> {
    #[serde(rename = "apiVersion")]
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<Metadata>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: Option<String>,
    r#continue: Option<String>,
    remaining_item_count: Option<i64>,
}

fn split(body: &[u8], choice: u8, limits: Limits) -> Outcome {
    let (mut split, mut items) = (json::ListSplitter::new(limits), Vec::new());
    for chunk in chunks(choice, body) {
        split.push(chunk);
        loop {
            match split.next() {
                Ok(Some(item)) => items.push(item.to_vec()),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(split.next(), Err(error.clone()), "errors are sticky");
                    return (items, Err(error));
                }
            }
        }
    }
    (items, split.finish())
}

fn compare_with_serde(body: &[u8], (items, end): &Outcome) {
    let Ok(list) = serde_json::from_slice::<List<'_>>(body) else { return };
    let found: Vec<&[u8]> = list.items.iter().flatten().map(|item| item.get().as_bytes()).collect();
    if found.iter().any(|item| !item.starts_with(b"{")) {
        assert!(end.is_err(), "items that are not objects are rejected");
        return;
    }
    match end {
        Err(error) => assert!(is_stricter(&error.problem), "{error}"),
        Ok(end) => {
            let metadata = list.metadata.unwrap_or_default();
            assert_eq!(*items, found);
            assert_eq!(end.api_version, list.api_version.unwrap_or_default());
            assert_eq!(end.kind, list.kind.unwrap_or_default());
            assert_eq!(end.resource_version, metadata.resource_version.as_deref().unwrap_or_default().into());
            assert_eq!(end.continue_token, metadata.r#continue.filter(|token| !token.is_empty()));
            assert_eq!(
                end.remaining_item_count,
                metadata.remaining_item_count.and_then(|count| u64::try_from(count).ok())
            );
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let (choice, body) = choice(data);
    for limits in [Limits::DEFAULT, LIMITS] {
        let whole = split(body, 0, limits);
        assert_eq!(split(body, choice, limits), whole, "in other chunks");
        assert_eq!(split(body, 1, limits), whole, "byte by byte");
        compare_with_serde(body, &whole);
    }
});
