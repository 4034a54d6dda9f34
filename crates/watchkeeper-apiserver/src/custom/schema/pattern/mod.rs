//! Patterns: regular expressions as Go reads them.
//!
//! Input: the `pattern` of a schema, in RE2 syntax.
//! Output: a pattern for the [`regex`] crate, which runs in linear time like Go's.
//!
//! Invariants:
//! - `pattern.R1`: what Go refuses is refused, with Go's message; what Go accepts means the same here. The two differ in
//!   `\d`, `\w`, `\s` and `\b` (ASCII in Go), in the syntax of classes, and in which braces are literal.

mod class;

use std::iter::Peekable;
use std::str::CharIndices;

use regex::Regex;

use class::perl;

/// The maximum repetition count, as in Go.
const REPEATS: u32 = 1000;

/// A compiled pattern, and its source.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// Go's error message.
    pub(super) fn compile(text: &str) -> Result<Self, String> {
        let translated =
            Translator::new(text).run().map_err(|error| format!("error parsing regexp: {error}"))?;
        match Regex::new(&translated) {
            Ok(regex) => Ok(Self { text: text.to_owned(), regex }),
            // pattern.R1: what is left to refuse is its size, and class names that only Go knows.
            Err(_) => Err(format!("error parsing regexp: expression too large: `{text}`")),
        }
    }

    /// Returns its source.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether it matches anywhere in a string.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

struct Translator<'p> {
    pattern: &'p str,
    rest: Peekable<CharIndices<'p>>,
    out: String,
    /// The number of open groups.
    open: usize,
}

/// The element before the current position.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// Nothing that can be repeated.
    Nothing,
    /// Something that can be repeated.
    Atom,
    /// A repetition that begins at this position.
    Repeat(usize),
}

impl<'p> Translator<'p> {
    fn new(pattern: &'p str) -> Self {
        Self { pattern, rest: pattern.char_indices().peekable(), out: String::new(), open: 0 }
    }

    fn at(&mut self) -> usize {
        self.rest.peek().map_or(self.pattern.len(), |(at, _)| *at)
    }

    fn takes(&mut self, wanted: char) -> bool {
        self.rest.next_if(|(_, c)| *c == wanted).is_some()
    }

    fn shown(&mut self, from: usize) -> &'p str {
        let end = self.at();
        &self.pattern[from..end]
    }

    fn run(mut self) -> Result<String, String> {
        let mut before = Before::Nothing;
        while let Some((at, c)) = self.rest.next() {
            before = match c {
                '(' => {
                    self.group(at)?;
                    Before::Nothing
                }
                ')' => {
                    if self.open == 0 {
                        return Err(format!("unexpected ): `{}`", self.pattern));
                    }
                    self.open -= 1;
                    self.out.push(')');
                    Before::Atom
                }
                '|' => {
                    self.out.push('|');
                    Before::Nothing
                }
                '.' | '^' | '$' => {
                    self.out.push(c);
                    Before::Atom
                }
                '*' | '+' | '?' => self.repeat(at, &c.to_string(), before)?,
                '{' => match self.counts()? {
                    Some(counts) => self.repeat(at, &counts, before)?,
                    None => {
                        self.literal('{');
                        Before::Atom
                    }
                },
                '[' => {
                    self.class(at)?;
                    Before::Atom
                }
                '\\' => self.escape(at, before)?,
                c => {
                    self.literal(c);
                    Before::Atom
                }
            };
        }
        match self.open {
            0 => Ok(self.out),
            _ => Err(format!("missing closing ): `{}`", self.pattern)),
        }
    }

    fn literal(&mut self, c: char) {
        if c.is_ascii_alphanumeric() || !c.is_ascii() {
            self.out.push(c);
        } else {
            self.out.push_str(&format!(r"\x{{{:x}}}", u32::from(c)));
        }
    }

    fn repeat(&mut self, at: usize, operator: &str, before: Before) -> Result<Before, String> {
        let is_lazy = self.takes('?');
        match before {
            Before::Repeat(first) => {
                return Err(format!("invalid nested repetition operator: `{}`", self.shown(first)));
            }
            Before::Nothing => {
                return Err(format!("missing argument to repetition operator: `{}`", self.shown(at)));
            }
            Before::Atom => {}
        }
        self.out.push_str(operator);
        if is_lazy {
            self.out.push('?');
        }
        Ok(Before::Repeat(at))
    }

    /// Reads the rest of `{2}`, `{2,}` or `{2,3}`; `None` if the brace is literal.
    fn counts(&mut self) -> Result<Option<String>, String> {
        let start = self.at();
        let Some(end) = self.pattern[start..].find('}') else { return Ok(None) };
        let inner = &self.pattern[start..start + end];
        let is_count = |text: &str| {
            let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_digits && (text.len() == 1 || !text.starts_with('0'))
        };
        let (least, most) = match inner.split_once(',') {
            None => (inner, Some(inner)),
            Some((least, "")) => (least, None),
            Some((least, most)) => (least, Some(most)),
        };
        if !is_count(least) || !most.is_none_or(is_count) {
            return Ok(None);
        }
        while self.at() <= start + end {
            self.rest.next();
        }
        let number = |text: &str| text.parse().unwrap_or(u32::MAX);
        let (least, most) = (number(least), most.map(number));
        if least > REPEATS || most.is_some_and(|most| most > REPEATS || most < least) {
            return Err(format!("invalid repeat count: `{{{inner}}}`"));
        }
        Ok(Some(format!("{{{inner}}}")))
    }

    fn group(&mut self, at: usize) -> Result<(), String> {
        self.open += 1;
        self.out.push('(');
        if !self.takes('?') {
            return Ok(());
        }
        self.out.push('?');
        let rest = &self.pattern[at..];
        if rest.starts_with("(?P<") || rest.starts_with("(?<") {
            return self.name(at);
        }
        let (mut has_flag, mut is_negative) = (false, false);
        while let Some((_, c)) = self.rest.next() {
            match c {
                'i' | 'm' | 's' | 'U' => {
                    has_flag = true;
                    self.out.push(c);
                }
                '-' if !is_negative => {
                    (has_flag, is_negative) = (false, true);
                    self.out.push('-');
                }
                ':' | ')' if has_flag || !is_negative => {
                    if c == ')' {
                        self.open -= 1;
                        if !has_flag {
                            // `(?)` sets nothing, and the regex crate refuses it.
                            self.out.truncate(self.out.len() - 2);
                            return Ok(());
                        }
                    }
                    self.out.push(c);
                    return Ok(());
                }
                _ => return Err(format!("invalid or unsupported Perl syntax: `{}`", self.shown(at))),
            }
        }
        Err(format!("invalid or unsupported Perl syntax: `{}`", &self.pattern[at..]))
    }

    fn name(&mut self, at: usize) -> Result<(), String> {
        self.takes('P');
        self.takes('<');
        let start = self.at();
        let Some(end) = self.pattern[start..].find('>') else {
            return Err(format!("invalid named capture: `{}`", &self.pattern[at..]));
        };
        let name = &self.pattern[start..start + end];
        let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if name.is_empty() || !is_word {
            return Err(format!("invalid named capture: `{}`", &self.pattern[at..=start + end]));
        }
        while self.at() <= start + end {
            self.rest.next();
        }
        self.out.push(':'); // names of groups are not used
        Ok(())
    }

    fn escape(&mut self, at: usize, before: Before) -> Result<Before, String> {
        let Some((_, c)) = self.rest.peek().copied() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        let plain = match c {
            'A' | 'z' => Some(format!("\\{c}")),
            'b' => Some(r"(?-u:\b)".to_owned()),
            'B' => Some(r"\B".to_owned()),
            'C' => Some("(?s:.)".to_owned()),
            'Q' => {
                self.rest.next();
                return Ok(self.quoted(before));
            }
            'p' | 'P' => {
                let class = self.unicode(at)?;
                self.out.push_str(&class);
                return Ok(Before::Atom);
            }
            c => perl(c).map(|(is_not, set)| format!("[{}{set}]", if is_not { "^" } else { "" })),
        };
        if let Some(plain) = plain {
            self.rest.next();
            self.out.push_str(&plain);
            return Ok(Before::Atom);
        }
        let c = self.escaped(at)?;
        self.literal(c);
        Ok(Before::Atom)
    }

    /// Reads `\Q...\E`, within which everything is literal.
    fn quoted(&mut self, mut before: Before) -> Before {
        while let Some((_, c)) = self.rest.next() {
            if c == '\\' && self.takes('E') {
                break;
            }
            self.literal(c);
            before = Before::Atom;
        }
        before
    }

    /// Reads an escape that stands for one character.
    fn escaped(&mut self, at: usize) -> Result<char, String> {
        let Some((_, c)) = self.rest.next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        let invalid = |shown: &str| format!("invalid escape sequence: `{shown}`");
        let found = match c {
            '0'..='7' => {
                let is_octal = |c: char| c.is_digit(8);
                let next = self.rest.peek().is_some_and(|(_, c)| is_octal(*c));
                if c != '0' && !next {
                    return Err(invalid(self.shown(at)));
                }
                let mut value = c.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some((_, digit)) = self.rest.next_if(|(_, c)| is_octal(*c)) else { break };
                    value = value * 8 + digit.to_digit(8).unwrap_or_default();
                }
                char::from_u32(value)
            }
            'x' => self.hexadecimal(),
            'a' => Some('\u{7}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(c),
            _ => None,
        };
        found.ok_or_else(|| invalid(self.shown(at)))
    }

    fn hexadecimal(&mut self) -> Option<char> {
        let digit = |it: &mut Self| it.rest.next().and_then(|(_, c)| c.to_digit(16));
        if !self.takes('{') {
            let high = digit(self)?;
            return char::from_u32(high * 16 + digit(self)?);
        }
        let mut value = digit(self)?;
        while !self.takes('}') {
            value = value * 16 + digit(self)?;
            if value > u32::from(char::MAX) {
                return None;
            }
        }
        char::from_u32(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_match(pattern: &str, text: &str) -> bool {
        Pattern::compile(pattern).unwrap().is_in(text)
    }

    #[test]
    fn shorthands_are_ascii_as_in_go() {
        assert!(is_match(r"^\d+$", "123") && !is_match(r"^\d+$", "\u{661}"));
        assert!(is_match(r"^[\w.-]+$", "a_1.b-") && !is_match(r"^\w+$", "é"));
        assert!(is_match(r"\bab\b", "x ab y") && is_match(r"\S", "é"));
    }

    #[test]
    fn literals_in_go_are_literals_here() {
        assert!(is_match("^a{,3}$", "a{,3}") && is_match("^a{x}$", "a{x}") && is_match("^{}$", "{}"));
        assert!(is_match("^[a&&b]+$", "&ab") && is_match("^[[a]$", "[") && is_match("^[]a]+$", "]a"));
        assert!(is_match(r"^\Qa.b*\E$", "a.b*") && is_match(r"^[a-c~~]+$", "~b"));
        assert!(is_match("^(?P<year>[0-9]{4})$", "2026") && is_match("(?i)^AB$", "aB"));
    }

    #[test]
    fn unicode_and_posix_classes_are_supported() {
        assert!(is_match(r"^\p{Greek}+$", "αβ") && is_match(r"^\pL[\pN]$", "é1") && is_match(r"^\PL$", "1"));
        assert!(is_match("^[[:alpha:]_]+$", "ab_") && is_match("^[^[:digit:]]$", "x"));
    }

    #[test]
    fn errors_have_gos_messages() {
        let cases = [
            ("[a", "missing closing ]: `[a`"),
            ("(a", "missing closing ): `(a`"),
            ("a)", "unexpected ): `a)`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a|*?", "missing argument to repetition operator: `*?`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a+{2}?", "invalid nested repetition operator: `+{2}?`"),
            (r"\y", r"invalid escape sequence: `\y`"),
            ("\\", "trailing backslash at end of expression: ``"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("a{2,1}", "invalid repeat count: `{2,1}`"),
            ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
            (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?<=a)", "invalid named capture: `(?<=a)`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            (r"\p{Nope}", r"invalid character class range: `\p{Nope}`"),
            ("[[:nope:]]", "invalid character class range: `[:nope:]`"),
        ];
        for (pattern, error) in cases {
            let error = format!("error parsing regexp: {error}");
            assert_eq!(Pattern::compile(pattern).err(), Some(error), "{pattern}");
        }
    }
}
