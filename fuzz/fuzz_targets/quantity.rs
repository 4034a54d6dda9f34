//! Quantities: the canonical form of a canonical quantity is the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_wire::quantity::canonical;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    let Some(once) = canonical(text) else { return };
    // The exponent wraps around at 32 bits, as in Go.
    if once.split(['e', 'E']).nth(1).is_some_and(|exponent| exponent.len() > 9) {
        return;
    }
    // The first time, the format can change from binary to decimal (62.5Ki becomes 64000), so the form is stable only
    // from the second time on.
    let twice = canonical(&once).expect("a canonical quantity parses");
    assert_eq!(canonical(&twice).as_ref(), Some(&twice), "{text:?}");
    // The output is bounded: the largest suffix adds 19 digits.
    assert!(once.len() <= text.len() + 24, "{text:?} became {once:?}");
    let opposite = format!("-{text}");
    if !text.starts_with(['-', '+']) && once != text {
        let expected = if once == "0" { once.clone().into_owned() } else { format!("-{once}") };
        assert_eq!(canonical(&opposite).as_deref(), Some(&*expected), "{opposite:?}");
    }
});
