//! Quantities: what is canonical stays canonical.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_wire::quantity::canonical;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    let Some(once) = canonical(text) else { return };
    // At the end of 32 bits the exponent goes round, in Go as here.
    if once.split(['e', 'E']).nth(1).is_some_and(|exponent| exponent.len() > 9) {
        return;
    }
    // That a quantity was binary can be lost, as it is of 62.5Ki, which is 64000: nothing else can be after that.
    let twice = canonical(&once).expect("what is printed can be read");
    assert_eq!(canonical(&twice).as_ref(), Some(&twice), "of {text:?}");
    // A few bytes cannot become many: the largest suffix adds 19 digits.
    assert!(once.len() <= text.len() + 24, "{text:?} became {once:?}");
    let opposite = format!("-{text}");
    if !text.starts_with(['-', '+']) && once != text {
        let expected = if once == "0" { once.clone().into_owned() } else { format!("-{once}") };
        assert_eq!(canonical(&opposite).as_deref(), Some(&*expected), "{opposite:?}");
    }
});
