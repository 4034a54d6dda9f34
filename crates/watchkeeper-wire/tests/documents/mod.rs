//! Strategies for documents and chunks, shared with unit tests.
#![allow(dead_code, unreachable_pub, reason = "every test takes what it needs")]

use bytes::Bytes;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value};

/// Any JSON text, compact or pretty-printed.
pub fn document() -> impl Strategy<Value = String> {
    (value(), any::<bool>()).prop_map(|(value, pretty)| text(&value, pretty))
}

/// A value as JSON text.
pub fn text(value: &Value, pretty: bool) -> String {
    if pretty { serde_json::to_string_pretty(value).unwrap() } else { value.to_string() }
}

/// Any JSON value, with strings that contain structural characters.
pub fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        string().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Any JSON object.
pub fn object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((key(), value()), 0..5).prop_map(|pairs| pairs.into_iter().collect())
}

/// A key, often one of a few that paths match.
pub fn key() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[abc]", 1 => string()]
}

/// A string with quotes, backslashes, brackets and characters of every width.
pub fn string() -> impl Strategy<Value = String> {
    prop_oneof![r#"["\\\\\[\]{},: a]{0,12}"#, "\\PC{0,8}", "[\\x00-\\x1f]{0,3}", "[a-z]{0,90}"]
}

/// A byte that is likely to break a document.
pub fn nasty_byte() -> impl Strategy<Value = u8> {
    prop_oneof![any::<u8>(), prop::sample::select(b"\"\\[]{},: \n0".to_vec())]
}

/// Returns an object with its members in the given order.
pub fn object_text(members: &[(String, Value)], pretty: bool) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), text(value, pretty)))
        .collect();
    let (open, comma, close) = if pretty { ("\n{ ", " ,\n\t", "\r\n } ") } else { ("{", ",", "}") };
    format!("{open}{}{close}", members.join(comma))
}

/// Splits bytes into chunks at the given positions.
pub fn chunks(bytes: &[u8], cuts: &[Index]) -> Vec<Bytes> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|cut| Bytes::copy_from_slice(&bytes[cut[0]..cut[1]])).collect()
}

/// Splits bytes into single bytes.
pub fn single_bytes(bytes: &[u8]) -> Vec<Bytes> {
    bytes.chunks(1).map(Bytes::copy_from_slice).collect()
}
