//! Field selectors: a parsed selector prints and parses to the same selector, and matches if all requirements do.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_core::{FieldRequirement, FieldSelector};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    let selector = match FieldSelector::parse(text) {
        Ok(selector) => selector,
        Err(error) => {
            return assert!(text.is_char_boundary(error.at), "the position of an error is within the text");
        }
    };
    assert_eq!(FieldSelector::parse(&selector.to_string()).as_ref(), Ok(&selector), "selector.L1");
    for it in selector.requirements() {
        assert_ne!(
            it.matches(Some(it.value())),
            it.matches(Some("another value")) || it.value() == "another value"
        );
        if let Ok(same) = FieldRequirement::new(it.field(), it.operator(), it.value()) {
            assert_eq!(same, *it);
        }
    }
    for value in [None, Some(""), Some("a")] {
        assert_eq!(
            selector.matches(|_| value),
            selector.requirements().iter().all(|it| it.matches(value)),
            "selector.L2"
        );
    }
});
