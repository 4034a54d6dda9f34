//! Indentation of JSON that keeps the order of fields.

/// Indents JSON by two spaces, like Go and serde_json. Other text is passed through in some form.
pub(super) fn indent(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    Indent::default().push(json, &mut out);
    out
}

/// Indents JSON in pieces, none of which ends inside a string.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Indent {
    depth: usize,
    /// Whether an object or a list was just opened, and may be empty.
    is_opened: bool,
}

impl Indent {
    pub(super) fn push(&mut self, json: &[u8], out: &mut Vec<u8>) {
        let mut at = 0;
        while let Some(&byte) = json.get(at) {
            at += 1;
            if byte.is_ascii_whitespace() {
                continue;
            }
            if std::mem::take(&mut self.is_opened) {
                if matches!(byte, b'}' | b']') {
                    out.push(byte);
                    continue;
                }
                self.depth += 1;
                self.line(out);
            }
            match byte {
                b'"' => {
                    let end = string_end(json, at);
                    out.push(b'"');
                    out.extend_from_slice(&json[at..end]);
                    at = end;
                }
                b'{' | b'[' => {
                    out.push(byte);
                    self.is_opened = true;
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.line(out);
                    out.push(byte);
                }
                b',' => {
                    out.push(byte);
                    self.line(out);
                }
                b':' => out.extend_from_slice(b": "),
                byte => out.push(byte),
            }
        }
    }

    fn line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        out.resize(out.len() + 2 * self.depth, b' ');
    }
}

/// Returns the offset after the closing quote of a string whose contents begin at `at`.
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

    #[test]
    fn json_in_pieces_is_indented_as_a_whole() {
        let (mut indent, mut out) = (Indent::default(), Vec::new());
        for piece in [&b"{\"items\":["[..], b"{\"a\":{", b"}}", b",", b"[", b"]", b"]}"] {
            indent.push(piece, &mut out);
        }
        let value = serde_json::json!({"items": [{"a": {}}, []]});
        assert_eq!(out, serde_json::to_vec_pretty(&value).unwrap());
    }

    proptest! {
        #[test]
        fn indenting_any_bytes_never_panics(text in r#"[{}\[\]":,\\ a1]{0,40}"#) {
            indent(text.as_bytes());
        }
    }
}
