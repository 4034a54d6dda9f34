//! Numbers and durations as Go parses them, with Go's error messages.

use std::fmt;
use std::time::Duration;

use watchkeeper_core::Quoted;

/// Returns the longest prefix of at most `bytes` bytes that ends at a character boundary.
pub(crate) fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1; // 0 is a boundary
    }
    &text[..end]
}

/// An error from [`parse_i64`] or [`parse_u64`], printed like those of `strconv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NumberError {
    function: &'static str,
    text: String,
    out_of_range: bool,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = if self.out_of_range { "value out of range" } else { "invalid syntax" };
        write!(f, "strconv.{}: parsing {}: {problem}", self.function, Quoted(&self.text))
    }
}

pub(crate) fn parse_i64(text: &str) -> Result<i64, NumberError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    text.parse().map_err(|_| NumberError::new("ParseInt", text, digits))
}

pub(crate) fn parse_u64(text: &str) -> Result<u64, NumberError> {
    // Rust accepts a leading plus, Go does not.
    let refused = text.starts_with('+');
    text.parse().ok().filter(|_| !refused).ok_or_else(|| NumberError::new("ParseUint", text, text))
}

impl NumberError {
    fn new(function: &'static str, text: &str, digits: &str) -> Self {
        let out_of_range = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        Self { function, text: text.to_owned(), out_of_range }
    }
}

/// Parses a Go duration (`1m30s`, `-5s`, `1.5h`, `0`). Returns whether it is negative, and its absolute value.
///
/// # Errors
/// Returns the text of Go's error.
pub(crate) fn parse_duration(text: &str) -> Result<(bool, Duration), String> {
    let invalid = || format!("time: invalid duration {}", Quoted(text));
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok((false, Duration::ZERO));
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0f64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        if !number.bytes().any(|byte| byte.is_ascii_digit()) {
            return Err(invalid());
        }
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "" => return Err(format!("time: missing unit in duration {}", Quoted(text))),
            unit => {
                return Err(format!("time: unknown unit {} in duration {}", Quoted(unit), Quoted(text)));
            }
        };
        total += number * seconds;
        rest = after;
    }
    // Go counts nanoseconds in 63 bits.
    let duration = Duration::try_from_secs_f64(total).map_err(|_| invalid())?;
    if i64::try_from(duration.as_nanos()).is_err() {
        return Err(invalid());
    }
    Ok((negative, duration))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_numbers_are_refused_in_gos_words() {
        assert_eq!(parse_i64("-5"), Ok(-5));
        for (text, error) in [
            ("", r#"strconv.ParseInt: parsing "": invalid syntax"#),
            ("1.5", r#"strconv.ParseInt: parsing "1.5": invalid syntax"#),
            (
                "99999999999999999999",
                r#"strconv.ParseInt: parsing "99999999999999999999": value out of range"#,
            ),
        ] {
            assert_eq!(parse_i64(text).unwrap_err().to_string(), error);
        }
        assert_eq!(
            parse_u64("-1").unwrap_err().to_string(),
            r#"strconv.ParseUint: parsing "-1": invalid syntax"#
        );
        assert_eq!(parse_u64("+1").unwrap_err().function, "ParseUint");
    }

    #[test]
    fn durations_are_parsed_like_go() {
        assert_eq!(parse_duration("5s"), Ok((false, Duration::from_secs(5))));
        assert_eq!(parse_duration("-1m30.5s"), Ok((true, Duration::from_millis(90_500))));
        assert_eq!(parse_duration("0"), Ok((false, Duration::ZERO)));
        for (text, error) in [
            ("abc", r#"time: invalid duration "abc""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("5x", r#"time: unknown unit "x" in duration "5x""#),
            ("", r#"time: invalid duration """#),
            (".s", r#"time: invalid duration ".s""#),
            ("9999999999999h", r#"time: invalid duration "9999999999999h""#),
        ] {
            assert_eq!(parse_duration(text), Err(error.to_owned()));
        }
    }

    #[test]
    fn a_beginning_holds_whole_characters() {
        assert_eq!(beginning("a\u{e4}b", 2), "a");
        assert_eq!(beginning("a\u{e4}b", 3), "a\u{e4}");
        assert_eq!(beginning("ab", 9), "ab");
    }
}
