//! Object keys, resource versions, group versions and event types: parsed text prints unchanged.

#![no_main]

use std::cmp::Ordering;

use libfuzzer_sys::fuzz_target;
use watchkeeper_core::{GroupVersion, ObjectKey, ResourceVersion, WatchEventType};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(key) = text.parse::<ObjectKey>() {
        assert_eq!(key.to_string().parse().as_ref(), Ok(&key));
        assert_eq!(ObjectKey::namespaced(key.namespace().unwrap_or_default(), key.name()), key);
    }
    if let Ok(version) = text.parse::<GroupVersion>() {
        assert_eq!(version.to_string(), text);
    }
    if let Ok(kind) = text.parse::<WatchEventType>() {
        assert_eq!(kind.as_str(), text);
    }
    let (left, right) = text.split_once(' ').unwrap_or((text, "1"));
    let [left, right] = [left, right].map(|text| {
        let version = ResourceVersion::from(text);
        assert_eq!(version.to_string(), text);
        assert_eq!(version.is_empty(), text.is_empty());
        version
    });
    match (left.compare(&right), right.compare(&left)) {
        (Ok(order), Ok(other)) => {
            assert_eq!(order, other.reverse());
            assert_eq!(order == Ordering::Equal, left == right, "version.V1");
        }
        (Err(_), Err(_)) => {}
        (order, other) => panic!("{order:?} and {other:?}"),
    }
});
