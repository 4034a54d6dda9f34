//! Label selectors, as text and as JSON: a parsed selector prints and parses to the same selector, and matches if all
//! requirements do.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_core::{LabelSelector, StructuredSelector};

fn check(selector: &LabelSelector) {
    let text = selector.to_string();
    assert_eq!(LabelSelector::parse(&text).as_ref(), Ok(selector), "selector.L1");
    for requirement in selector.requirements() {
        if let Some(value) = requirement.exact_value() {
            assert!(requirement.matches(Some(value)) && !requirement.matches(None));
        }
    }
    let each = |label: Option<&'static str>| selector.requirements().iter().all(|it| it.matches(label));
    for label in [None, Some(""), Some("5"), Some("a")] {
        assert_eq!(selector.matches(|_| label), each(label), "selector.L2");
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    match LabelSelector::parse(text) {
        Ok(selector) => check(&selector),
        Err(error) => {
            assert!(text.is_char_boundary(error.at), "the position of an error is within the text");
            assert!(!error.to_string().is_empty());
        }
    }
    if let Ok(body) = serde_json::from_str::<StructuredSelector>(text)
        && let Ok(selector) = LabelSelector::try_from(&body)
    {
        check(&selector);
    }
});
