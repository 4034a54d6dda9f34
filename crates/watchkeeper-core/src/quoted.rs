//! Texts in quotes, as Go prints them. Messages of the API quote values in Go's manner, and people search for
//! those messages.

use std::fmt::{self, Write as _};

/// A text in double quotes with the escapes of Go's `%q`, which differ from those of Rust.
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

/// What Go's `unicode.IsPrint` says: of all spaces, only the plain one is printable.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    // Asked of a text and not of the character, so that an accent counts as part of a letter.
    !c.is_whitespace() && String::from_iter(['a', c]).escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_escape_what_cannot_be_seen() {
        assert_eq!(Quoted("a\u{7}b\u{1}\"\u{e4}\u{2028}").to_string(), "\"a\\ab\\x01\\\"\u{e4}\\u2028\"");
    }
}
