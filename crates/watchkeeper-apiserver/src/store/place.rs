//! The place of `metadata.resourceVersion` in a JSON body.
//!
//! The body has been read by [`read_head`](watchkeeper_wire::json::read_head) before: its metadata is
//! valid and no key comes twice there. So this only looks for keys, and gives up where it is lost.

use std::ops::Range;

/// Which bytes a version replaces, and what must stand around it.
pub(super) struct Place {
    pub(super) value: Range<usize>,
    pub(super) prefix: &'static str,
    pub(super) suffix: &'static str,
}

/// Finds the value of `metadata.resourceVersion`, or where it would stand.
pub(super) fn version_value(body: &[u8]) -> Option<Place> {
    let metadata = member(body, skip_space(body, 0), b"metadata")??;
    if let Some(value) = member(body, metadata.start, b"resourceVersion")? {
        return Some(Place { value, prefix: "", suffix: "" });
    }
    let first = metadata.start + 1;
    let suffix = if body.get(skip_space(body, first)) == Some(&b'}') { "" } else { "," };
    Some(Place { value: first..first, prefix: r#""resourceVersion":"#, suffix })
}

/// The value of a member of the object that opens at `open`: `Some(None)` where it has none of that
/// name, `None` where this is not an object.
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

/// The end of the string whose quote opens at `open`.
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

/// The end of the value that begins at `at`: never `at` itself.
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

/// A byte of a number or of a word such as `null`.
fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_searched_without_a_panic(body in r#"[{}\[\]":,\\ a1]{0,40}|\{"metadata":[{}\[\]":,\\ a1]{0,40}"#) {
            if let Some(place) = version_value(body.as_bytes()) {
                prop_assert!(place.value.start <= place.value.end && place.value.end <= body.len());
            }
        }
    }
}
