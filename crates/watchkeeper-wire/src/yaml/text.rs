//! Writes strings plain, quoted or as block scalars, as Go does.

use super::resolve;
use super::write::column_of;
use crate::document::Document;

/// Longer lines are folded at the next space.
const WIDTH: usize = 80;

/// The properties of a string that determine its style.
#[derive(Debug, Default)]
struct Traits {
    /// A plain scalar would be parsed differently.
    has_indicator: bool,
    /// Starts or ends with a space or line break.
    is_ragged: bool,
    ends_in_space: bool,
    has_space_break: bool,
    /// Has characters that must be escaped.
    is_special: bool,
}

/// The style of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Block,
}

/// Writes a string. With an indentation it may be folded or written as a block.
pub(super) fn write_text(text: &str, indent: Option<usize>, out: &mut String) {
    match style(text, indent.is_none()) {
        Style::Plain => write_folded(text, indent, None, out),
        Style::Single => {
            out.push('\'');
            write_folded(text, indent, Some('\''), out);
            out.push('\'');
        }
        Style::Double => write_double(text, indent, out),
        Style::Block => write_block(text, indent.unwrap_or_default(), out),
    }
}

fn style(text: &str, is_key: bool) -> Style {
    let traits = Traits::of(text);
    if text.contains('\n') {
        let is_block = !is_key && !traits.ends_in_space && !traits.has_space_break && !traits.is_special;
        return if is_block { Style::Block } else { Style::Double };
    }
    match () {
        () if traits.is_special || !resolves_to_string(text, is_key) => Style::Double,
        () if traits.is_ragged || traits.has_indicator => Style::Single,
        () => Style::Plain,
    }
}

/// Returns whether a plain scalar resolves to this string, not to a number, boolean, timestamp or, as a key, merge.
fn resolves_to_string(text: &str, is_key: bool) -> bool {
    let is_text = resolve(text).is_ok_and(|node| node == Document::Text(text.to_owned()));
    let is_merge = is_key && text == "<<";
    is_text && !is_merge && !is_timestamp(text) && !is_base_60(text)
}

impl Traits {
    fn of(text: &str) -> Self {
        const FIRST: &str = "#,[]{}&*!|>'\"%@`";
        let mut traits = Self::default();
        let mut before: Option<char> = None;
        let mut letters = text.chars().peekable();
        while let Some(c) = letters.next() {
            let (is_first, is_last) = (before.is_none(), letters.peek().is_none());
            let is_followed = letters.peek().is_none_or(|next| [' ', '\t'].contains(next));
            traits.has_indicator |= match c {
                c if is_first && FIRST.contains(c) => true,
                '?' | '-' if is_first => is_followed,
                ':' => is_followed,
                '#' => before.is_some_and(char::is_whitespace),
                _ => false,
            };
            traits.is_special |= !is_printable(c);
            traits.is_ragged |= [' ', '\n'].contains(&c) && (is_first || is_last);
            traits.ends_in_space |= c == ' ' && is_last;
            traits.has_space_break |= c == '\n' && before == Some(' ');
            before = Some(c);
        }
        traits.has_indicator |= text.starts_with("---") || text.starts_with("...");
        traits
    }
}

/// Returns whether a character is written unescaped. Line breaks other than `\n` are not.
fn is_printable(c: char) -> bool {
    let is_known = matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}');
    is_known && !['\u{2028}', '\u{2029}', '\u{feff}'].contains(&c)
}

/// Writes a string without escapes. Quotes are doubled.
fn write_folded(text: &str, indent: Option<usize>, quote: Option<char>, out: &mut String) {
    let mut column = column_of(out);
    let mut is_after_space = false;
    let mut letters = text.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        let is_between = at > 0 && letters.peek().is_some_and(|(_, next)| *next != ' ') && !is_after_space;
        match indent {
            Some(indent) if c == ' ' && column > WIDTH && is_between => column = fold(indent, out),
            _ => {
                out.extend(quote.filter(|quote| *quote == c));
                out.push(c);
                column += 1 + usize::from(quote == Some(c));
            }
        }
        is_after_space = c == ' ';
    }
}

/// Starts a new line, and returns the column.
fn fold(indent: usize, out: &mut String) -> usize {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
    indent
}

fn write_double(text: &str, indent: Option<usize>, out: &mut String) {
    out.push('"');
    let mut column = column_of(out);
    let mut is_after_space = false;
    let mut letters = text.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        let is_between = at > 0 && next.is_some() && !is_after_space;
        match indent {
            _ if !is_printable(c) || ['"', '\\', '\n'].contains(&c) => {
                let escaped = escaped(c);
                column += escaped.len();
                out.push_str(&escaped);
            }
            Some(indent) if c == ' ' && column > WIDTH && is_between => {
                column = fold(indent, out);
                if next == Some(' ') {
                    out.push('\\'); // keeps the following space out of the indentation
                    column += 1;
                }
            }
            _ => {
                out.push(c);
                column += 1;
            }
        }
        is_after_space = c == ' ';
    }
    out.push('"');
}

fn escaped(c: char) -> String {
    let letter = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' | '\\' => c,
        '\u{85}' => 'N',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(c) {
                code @ ..=0xff => format!("\\x{code:02X}"),
                code @ ..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{letter}")
}

fn write_block(text: &str, indent: usize, out: &mut String) {
    out.push('|');
    if text.starts_with([' ', '\n']) {
        out.push('2'); // the indentation, which the first line does not show
    }
    match text.strip_suffix('\n') {
        None => out.push('-'),
        Some(rest) if rest.is_empty() || rest.ends_with('\n') => out.push('+'),
        Some(_) => {}
    }
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(line);
        }
    }
}

/// Returns whether the text is a sexagesimal number, such as `1:30`, in YAML 1.1.
fn is_base_60(text: &str) -> bool {
    let is_digits = |part: &str| part.chars().all(|c| c.is_ascii_digit() || c == '_');
    let is_sixtieth = |part: &str| match part.as_bytes() {
        [one] => one.is_ascii_digit(),
        [ten, one] => (b'0'..=b'5').contains(ten) && one.is_ascii_digit(),
        _ => false,
    };
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let Some((first, rest)) = unsigned.split_once(':') else { return false };
    let (rest, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    first.starts_with(|c: char| c.is_ascii_digit())
        && is_digits(first)
        && rest.split(':').all(is_sixtieth)
        && is_digits(fraction)
}

/// Returns whether the text is a date or timestamp: `2020-1-2`, `2020-01-02T03:04:05.6Z`, `2020-01-02 03:04:05`.
fn is_timestamp(text: &str) -> bool {
    let (day, rest) = text.split_at(text.find(['T', 't', ' ']).unwrap_or(text.len()));
    let parts: Vec<&str> = day.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let is_day = year.len() == 4
        && number(year).is_some()
        && number(month).is_some_and(|month| (1..=12).contains(&month))
        && number(day).is_some_and(|day| (1..=31).contains(&day));
    let is_time = match rest.as_bytes() {
        [] => true,
        [b' ', ..] => is_time(&rest[1..]),
        _ => strip_zone(&rest[1..]).is_some_and(is_time),
    };
    is_day && is_time
}

/// Parses a number of at most four digits.
fn number(text: &str) -> Option<u32> {
    let is_one = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_one)
}

/// Returns whether the text is a time: `3:4:5`, `03:04:05.678`.
fn is_time(text: &str) -> bool {
    let (text, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let parts: Vec<Option<u32>> =
        text.split(':').map(|part| number(part).filter(|_| part.len() <= 2)).collect();
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    matches!(parts.as_slice(), [Some(..24), Some(..60), Some(..60)]) && is_fraction
}

/// Strips `Z` or `+01:00`; `None` if there is neither.
fn strip_zone(text: &str) -> Option<&str> {
    if let Some(text) = text.strip_suffix('Z') {
        return Some(text);
    }
    let (text, zone) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
    number(hours).and(number(minutes)).map(|_| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_and_sexagesimals_are_not_plain_strings() {
        for text in [
            "2020-01-02",
            "2020-1-2",
            "2020-01-02T03:04:05Z",
            "2020-01-02t3:4:5.6+01:00",
            "2020-01-02 03:04:05",
        ] {
            assert!(is_timestamp(text), "{text}");
        }
        for text in [
            "2020-13-01",
            "2020-01",
            "2020-ab-cd",
            "2020-01-02T",
            "2020-01-02T03:04Z",
            "20-01-02",
            "2020-01-02Z",
            "2020-01-02T\u{e4}\u{e4}\u{e4}\u{e4}",
        ] {
            assert!(!is_timestamp(text), "{text}");
        }
        for text in ["1:30", "-12:5:59.5", "1_0:00"] {
            assert!(is_base_60(text), "{text}");
        }
        for text in ["1:60", "a:1", "1", "1:2:x", "::1", "10.0.0.1:80"] {
            assert!(!is_base_60(text), "{text}");
        }
    }

    #[test]
    fn strings_are_written_as_in_go() {
        for (text, expected) in [
            ("a b", "a b"),
            ("a: b", "'a: b'"),
            ("it's", "it's"),
            ("'it''s", "'''it''''s'"),
            ("true", "\"true\""),
            ("\ttab", "\"\\ttab\""),
            ("a \nb", "\"a \\nb\""),
            (" a\nb", "|2-\n   a\n  b"),
            ("\n", "|2+\n"),
            ("=", "="),
            ("-", "'-'"),
            ("-a", "-a"),
            (":a", ":a"),
            ("a#b", "a#b"),
            ("\u{1f600}", "\"\\U0001F600\""),
            ("\u{1b}[0m", "\"\\e[0m\""),
        ] {
            let mut out = String::new();
            write_text(text, Some(2), &mut out);
            assert_eq!(out, expected, "{text:?}");
        }
    }
}
