//! YAML: what is read can be written, and reads back as the same.

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
    assert_eq!(again, Ok(value), "{written}");
});
