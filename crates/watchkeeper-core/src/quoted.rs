//! Strings quoted as Go's `%q` quotes them, as in the messages of Kubernetes.

use std::fmt::{self, Write as _};

/// A string that displays in double quotes with the escapes of Go's `%q`, which differ from Rust's.
///
/// ```
/// assert_eq!(watchkeeper_core::Quoted("a\u{1}\"b").to_string(), r#""a\x01\"b""#);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}"),
                '\u{7}' => f.write_str("\\a"),
                '\u{8}' => f.write_str("\\b"),
                '\u{b}' => f.write_str("\\v"),
                '\u{c}' => f.write_str("\\f"),
                '\n' | '\r' | '\t' => write!(f, "{}", c.escape_default()),
                c if c.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(c)),
                c if is_printable(c) => f.write_char(c),
                c if u32::from(c) <= 0xffff => write!(f, "\\u{:04x}", u32::from(c)),
                c => write!(f, "\\U{:08x}", u32::from(c)),
            }?;
        }
        f.write_char('"')
    }
}

/// Returns whether Go's `unicode.IsPrint` holds for `c`. The only printable space is U+0020.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    // `char::escape_debug` would escape a combining accent; after a letter it is printable, as in Go.
    !c.is_whitespace() && String::from_iter(['a', c]).escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unprintable_characters_are_escaped() {
        assert_eq!(Quoted("a\u{7}b\u{1}\"\u{e4}\u{2028}").to_string(), "\"a\\ab\\x01\\\"\u{e4}\\u2028\"");
    }
}
