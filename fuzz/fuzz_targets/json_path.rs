//! JSON paths: a path or template that parses can be evaluated on any object, and braces around a path do not change its
//! result. The first line of an input is the path, the rest is the object.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use watchkeeper_wire::json_path::{JsonPath, Template};

fuzz_target!(|data: &[u8]| {
    let Ok(data) = str::from_utf8(data) else { return };
    let (text, json) = data.split_once('\n').unwrap_or((data, "null"));
    let value = serde_json::from_str::<Value>(json).unwrap_or_default();
    if let Ok(template) = text.parse::<Template>() {
        let _ = template.render(&value);
    }
    if let Ok(path) = text.parse::<JsonPath>() {
        let found = path.find(&value);
        if !text.contains(['{', '}']) {
            let braced: JsonPath = format!("{{{}}}", text.trim()).parse().expect("a path in braces parses");
            assert_eq!(braced.find(&value), found);
        }
    }
});
