//! Parses and writes JSON strings.

use std::borrow::Cow;

use crate::{Malformed, Problem};

/// Parses the string that starts at `start`, after its opening quote. Returns it and the position
/// after its closing quote. A string without escapes is borrowed.
pub(super) fn read(bytes: &[u8], start: usize) -> Result<(Cow<'_, str>, usize), Malformed> {
    let (text, end) = read_bytes(bytes, start)?;
    Ok((utf8(text, bytes, start)?, end))
}

/// Parses a string as [`read`] does, without validating UTF-8.
pub(super) fn read_bytes(bytes: &[u8], start: usize) -> Result<(Cow<'_, [u8]>, usize), Malformed> {
    let end = plain_end(bytes, start);
    match bytes.get(end) {
        Some(b'"') => Ok((Cow::Borrowed(&bytes[start..end]), end + 1)),
        Some(b'\\') => unescape(bytes, start, end),
        other => Err(string_error(other, end)),
    }
}

/// Returns the string that starts at `start`, if it is complete and has no escapes.
#[inline(always)]
pub(super) fn plain(bytes: &[u8], start: usize) -> Option<&[u8]> {
    let end = plain_end(bytes, start);
    if *bytes.get(end)? == b'"' { bytes.get(start..end) } else { None }
}

/// Returns the position after the closing quote of the string that starts at `start`, without
/// validating its content.
pub(super) fn skip(bytes: &[u8], start: usize) -> Result<usize, Malformed> {
    let mut at = start;
    loop {
        at = quote_or_backslash(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(_) => at += 2, // the escaped byte may be a quote
            None => return Err(Malformed::new(bytes.len(), Problem::Truncated)),
        }
    }
}

/// Continues a string at its first backslash, at `at`.
fn unescape(bytes: &[u8], start: usize, mut at: usize) -> Result<(Cow<'_, [u8]>, usize), Malformed> {
    let mut text = Vec::with_capacity(2 * (at - start) + 16);
    text.extend_from_slice(&bytes[start..at]);
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok((Cow::Owned(text), at + 1)),
            Some(b'\\') => {
                let (character, end) = escape(bytes, at)?;
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                at = plain_end(bytes, end);
                text.extend_from_slice(&bytes[end..at]);
            }
            other => return Err(string_error(other, at)),
        }
    }
}

/// Returns the character of the escape at `at`, and the position after it.
fn escape(bytes: &[u8], at: usize) -> Result<(char, usize), Malformed> {
    let character = match bytes.get(at + 1) {
        Some(&plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode_escape(bytes, at),
        Some(_) => return Err(Malformed::new(at, Problem::InvalidEscape)),
        None => return Err(Malformed::new(bytes.len(), Problem::Truncated)),
    };
    Ok((character, at + 2))
}

/// Parses `\u0041`, or a surrogate pair. As in Go, an unpaired surrogate is the replacement character.
fn unicode_escape(bytes: &[u8], at: usize) -> Result<(char, usize), Malformed> {
    let high = code_unit(bytes, at)?;
    if (0xd800..0xdc00).contains(&high)
        && let Some([b'\\', b'u', ..]) = bytes.get(at + 6..)
        && let low @ 0xdc00..0xe000 = code_unit(bytes, at + 6)?
    {
        let character = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return Ok((char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER), at + 12));
    }
    Ok((char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), at + 6))
}

/// Parses the four hexadecimal digits of the `\u` at `at`.
fn code_unit(bytes: &[u8], at: usize) -> Result<u32, Malformed> {
    (2..6).try_fold(0, |unit, place| {
        let byte = bytes.get(at + place).ok_or_else(|| Malformed::new(bytes.len(), Problem::Truncated))?;
        let digit = char::from(*byte).to_digit(16);
        Ok(unit << 4 | digit.ok_or_else(|| Malformed::new(at, Problem::InvalidEscape))?)
    })
}

/// Validates the UTF-8 of the string at `start`.
pub(super) fn utf8<'a>(text: Cow<'a, [u8]>, bytes: &[u8], start: usize) -> Result<Cow<'a, str>, Malformed> {
    let text = match text {
        Cow::Borrowed(text) => std::str::from_utf8(text).ok().map(Cow::Borrowed),
        Cow::Owned(text) => String::from_utf8(text).ok().map(Cow::Owned),
    };
    text.ok_or_else(|| {
        // Escapes are ASCII and decode to whole characters, so the raw bytes are invalid at the same point.
        let valid = std::str::from_utf8(&bytes[start..]).err().map_or(0, |error| error.valid_up_to());
        Malformed::new(start + valid, Problem::InvalidUtf8)
    })
}

/// Returns the error for a byte that ends a string, other than a quote or a backslash.
#[cold]
fn string_error(byte: Option<&u8>, at: usize) -> Malformed {
    Malformed::new(at, if byte.is_some() { Problem::ControlCharacter } else { Problem::Truncated })
}

/// Appends a string with quotes.
pub(crate) fn write(text: &str, out: &mut Vec<u8>) {
    if plain_end(text.as_bytes(), 0) < text.len() {
        return serde_json::to_writer(out, text).expect("writing to memory cannot fail");
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Returns the position of the next quote, backslash or control character, or the end of the input.
fn plain_end(bytes: &[u8], start: usize) -> usize {
    find(bytes, start, |word| below_space(word) | equal(word, b'"') | equal(word, b'\\'))
}

fn quote_or_backslash(bytes: &[u8], start: usize) -> usize {
    find(bytes, start, |word| equal(word, b'"') | equal(word, b'\\'))
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGHS: u64 = ONES << 7;

/// Returns the first position from `start` that `marks` marks, or the end of the input.
///
/// `marks` takes eight bytes and sets the high bit of matching ones. Only the lowest mark must be
/// exact; higher ones may be false positives.
#[inline(always)]
fn find(bytes: &[u8], start: usize, marks: impl Fn(u64) -> u64) -> usize {
    let mut rest = bytes.get(start..).unwrap_or_default();
    while let Some((word, after)) = rest.split_first_chunk() {
        let found = marks(u64::from_le_bytes(*word));
        if found != 0 {
            return bytes.len() - rest.len() + found.trailing_zeros() as usize / 8;
        }
        rest = after;
    }
    let mut last = [b' '; 8];
    last[..rest.len()].copy_from_slice(rest);
    let found = marks(u64::from_le_bytes(last));
    let within = if found == 0 { rest.len() } else { found.trailing_zeros() as usize / 8 };
    bytes.len() - rest.len() + within
}

/// Marks bytes equal to `byte`: the xor makes them zero, and the borrow sets their high bit.
fn equal(word: u64, byte: u8) -> u64 {
    let zero_where_equal = word ^ (ONES * u64::from(byte));
    zero_where_equal.wrapping_sub(ONES) & !zero_where_equal & HIGHS
}

/// Marks control characters.
fn below_space(word: u64) -> u64 {
    word.wrapping_sub(ONES * 0x20) & !word & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem(text: &[u8]) -> Malformed {
        read(text, 1).unwrap_err()
    }

    #[test]
    fn a_string_without_escapes_is_borrowed() {
        let (text, end) = read(br#""caf\u00e9" "#, 1).unwrap();
        assert_eq!((&*text, end), ("café", 11));
        assert!(matches!(read(r#""café""#.as_bytes(), 1), Ok((Cow::Borrowed("café"), 7))));
    }

    #[test]
    fn every_escape_is_parsed() {
        let (text, _) = read(br#""\"\\\/\b\f\n\r\t\u0041\ud83d\ude00.""#, 1).unwrap();
        assert_eq!(text, "\"\\/\u{8}\u{c}\n\r\tA\u{1f600}.");
    }

    #[test]
    fn an_unpaired_surrogate_is_the_replacement_character() {
        let (text, _) = read(br#""\ud83d \ude00 \ud83d\u0041 \ud83d\ud83d\ude00""#, 1).unwrap();
        assert_eq!(text, "\u{fffd} \u{fffd} \u{fffd}A \u{fffd}\u{1f600}");
    }

    #[test]
    fn errors_have_a_position_and_a_problem() {
        let cases: [(&[u8], usize, Problem); 8] = [
            (br#""ab\x""#, 3, Problem::InvalidEscape),
            (br#""ab\u12g4""#, 3, Problem::InvalidEscape),
            (b"\"ab\n\"", 3, Problem::ControlCharacter),
            (b"\"\\n\x00\"", 3, Problem::ControlCharacter),
            (b"\"ab\xff\"", 3, Problem::InvalidUtf8),
            (b"\"\\n\xc3\"", 3, Problem::InvalidUtf8),
            (br#""abcdefghij"#, 11, Problem::Truncated),
            (br#""ab\ud800\u12"#, 13, Problem::Truncated),
        ];
        for (text, offset, expected) in cases {
            assert_eq!(problem(text), Malformed::new(offset, expected), "{}", text.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn strings_of_serde_json_round_trip(text in "\\PC{0,40}|[\\x00-\\x7f]{0,40}") {
            let json = serde_json::to_string(&text).unwrap();
            let mut written = Vec::new();
            write(&text, &mut written);
            prop_assert_eq!(written.escape_ascii().to_string(), json.as_bytes().escape_ascii().to_string());
            let (read, end) = read(json.as_bytes(), 1).unwrap();
            prop_assert_eq!(read, text);
            prop_assert_eq!(end, json.len());
            prop_assert_eq!(skip(json.as_bytes(), 1).unwrap(), json.len());
        }

        #[test]
        fn arbitrary_bytes_are_accepted_as_by_serde_json(
            body in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\\'), Just(b'u'), Just(b'd'), Just(b'"')], 0..24)
        ) {
            let quoted = [b"\"", body.as_slice()].concat();
            match read(&quoted, 1) {
                Ok((text, end)) => {
                    // serde_json rejects unpaired surrogates.
                    match serde_json::from_slice::<String>(&quoted[..end]) {
                        Ok(expected) => prop_assert_eq!(expected, text),
                        Err(_) => prop_assert!(text.contains(char::REPLACEMENT_CHARACTER)),
                    }
                    prop_assert_eq!(skip(&quoted, 1).unwrap(), end);
                }
                Err(_) => {
                    if let Ok(end) = skip(&quoted, 1) {
                        prop_assert!(serde_json::from_slice::<String>(&quoted[..end]).is_err());
                    }
                }
            }
        }
    }
}
