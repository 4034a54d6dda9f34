//! YAML: a parsed document can be written, and parses again to the same value.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use watchkeeper_wire::yaml;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let Ok(read) = yaml::read(&text) else { return };
    assert!(read.repeated.len() <= yaml::REPEATED_KEYS);
    let value = Value::from(read.document);
    let written = yaml::write(&value);
    let again = yaml::read(&written).map(|read| Value::from(read.document));
    let again = again.unwrap_or_else(|error| panic!("{error}: {written}"));
    assert!(same(&again, &value), "{again}\n{value}\n{written}");
});

/// Compares two values. A float without a fraction equals an integer, because it is written without a decimal point, as in
/// Go.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| same(one, other)))
        }
        (one, other) => one == other,
    }
}
