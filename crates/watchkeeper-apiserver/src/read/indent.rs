//! Indentation: JSON for people, with its fields where they were.

/// Indents JSON by two spaces, as Go and serde_json do. What is not JSON stays some text.
pub(super) fn indent(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let (mut depth, mut at) = (0usize, 0);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let end = string_end(json, at);
                out.push(b'"');
                out.extend_from_slice(&json[at..end]);
                at = end;
            }
            b'{' | b'[' => {
                out.push(byte);
                let close =
                    json[at..].iter().position(|byte| !byte.is_ascii_whitespace()).map(|skip| at + skip);
                match close.map(|close| (close, json[close])) {
                    Some((close, end @ (b'}' | b']'))) => {
                        out.push(end);
                        at = close + 1;
                    }
                    _ => {
                        depth += 1;
                        line(&mut out, depth);
                    }
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            byte if byte.is_ascii_whitespace() => {}
            byte => out.push(byte),
        }
    }
    out
}

/// The place after the closing quote of a string whose first character is at `at`.
fn string_end(json: &[u8], mut at: usize) -> usize {
    while let Some(byte) = json.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn json_is_indented_as_serde_does_it() {
        let value = serde_json::json!({"a": [], "b": {}, "c": [1, "x,\"{}", {"d": null}], "e": -1.5e3});
        let plain = serde_json::to_vec(&value).unwrap();
        assert_eq!(indent(&plain), serde_json::to_vec_pretty(&value).unwrap());
    }

    proptest! {
        #[test]
        fn any_bytes_are_indented_without_a_panic(text in r#"[{}\[\]":,\\ a1]{0,40}"#) {
            indent(text.as_bytes());
        }
    }
}
