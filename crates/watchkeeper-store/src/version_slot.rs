//! The position of `metadata.resourceVersion` in a JSON body.
//!
//! The body has already been read by [`read_object_meta`](watchkeeper_wire::json::read_object_meta), so its metadata is valid and
//! has no duplicate keys. This code only searches for keys, and returns `None` if it cannot follow the structure.

use std::ops::Range;

/// The byte range that a version replaces, and the text required around it.
pub(super) struct VersionSlot {
    pub(super) value: Range<usize>,
    pub(super) prefix: &'static str,
    pub(super) suffix: &'static str,
}

/// Finds the value of `metadata.resourceVersion`, or the position at which to insert it.
pub(super) fn version_value(body: &[u8]) -> Option<VersionSlot> {
    let metadata = member(body, skip_space(body, 0), b"metadata")??;
    if let Some(value) = member(body, metadata.start, b"resourceVersion")? {
        return Some(VersionSlot { value, prefix: "", suffix: "" });
    }
    let first = metadata.start + 1;
    let suffix = if body.get(skip_space(body, first)) == Some(&b'}') { "" } else { "," };
    Some(VersionSlot { value: first..first, prefix: r#""resourceVersion":"#, suffix })
}

/// Returns the value of a member of the object that opens at `open`: `Some(None)` if the object has no such member,
/// `None` if this is not an object.
fn member(body: &[u8], open: usize, name: &[u8]) -> Option<Option<Range<usize>>> {
    if body.get(open) != Some(&b'{') {
        return None;
    }
    let mut at = skip_space(body, open + 1);
    while body.get(at)? != &b'}' {
        let key = at..string_end(body, at)?;
        let colon = skip_space(body, key.end);
        let value = skip_space(body, colon + 1);
        let end = value_end(body, value)?;
        if &body[key.start + 1..key.end - 1] == name {
            return Some(Some(value..end));
        }
        at = skip_space(body, end);
        if body.get(at)? == &b',' {
            at = skip_space(body, at + 1);
        }
    }
    Some(None)
}

fn skip_space(body: &[u8], at: usize) -> usize {
    let rest = body.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Returns the end of the string whose quote opens at `open`.
fn string_end(body: &[u8], open: usize) -> Option<usize> {
    if body.get(open) != Some(&b'"') {
        return None;
    }
    let mut at = open + 1;
    loop {
        match body.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the end of the value that begins at `at`, which is always after `at`.
fn value_end(body: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match body.get(at)? {
            b'"' => at = string_end(body, at)?,
            b'{' | b'[' => (depth, at) = (depth + 1, at + 1),
            b'}' | b']' => (depth, at) = (depth.checked_sub(1)?, at + 1),
            b',' | b':' if depth == 0 => return None,
            b',' | b':' => at += 1,
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => at += body[at..].iter().take_while(|byte| is_scalar(**byte)).count().max(1),
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Returns whether the byte can be part of a number or a literal such as `null`.
fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_can_be_searched_without_a_panic(body in r#"[{}\[\]":,\\ a1]{0,40}|\{"metadata":[{}\[\]":,\\ a1]{0,40}"#) {
            if let Some(place) = version_value(body.as_bytes()) {
                prop_assert!(place.value.start <= place.value.end && place.value.end <= body.len());
            }
        }
    }
}
