//! Character classes: `[a-z]`, `[[:alpha:]]`, `\d` and `\p{Greek}`.

use regex::Regex;

use super::Translator;

const DIGIT: &str = "0-9";
const SPACE: &str = r"\t\n\f\r ";
const WORD: &str = "0-9A-Za-z_";

impl Translator<'_> {
    /// `\pL`, `\p{Greek}`, `\P{^Lu}`.
    pub(super) fn unicode(&mut self, at: usize) -> Result<String, String> {
        let is_not = self.rest.next().is_some_and(|(_, c)| c == 'P');
        let start = self.at();
        let name = if self.takes('{') {
            let Some(end) = self.pattern[start..].find('}') else {
                return Err(format!("invalid character class range: `{}`", &self.pattern[at..]));
            };
            while self.at() <= start + end {
                self.rest.next();
            }
            &self.pattern[start + 1..start + end]
        } else {
            self.rest.next();
            self.shown(start)
        };
        let (name, is_not) = match name.strip_prefix('^') {
            Some(name) => (name, !is_not),
            None => (name, is_not),
        };
        let name = if name == "Any" { "any" } else { name };
        let class = format!(r"\{}{{{name}}}", if is_not { 'P' } else { 'p' });
        match Regex::new(&class) {
            Ok(_) if !name.contains(['=', ':', '!']) => Ok(class),
            _ => Err(format!("invalid character class range: `{}`", self.shown(at))),
        }
    }

    pub(super) fn class(&mut self, at: usize) -> Result<(), String> {
        let pattern = self.pattern;
        let missing = || format!("missing closing ]: `{}`", &pattern[at..]);
        self.out.push('[');
        if self.takes('^') {
            self.out.push('^');
        }
        let mut is_first = true;
        loop {
            let Some((from, c)) = self.rest.peek().copied() else { return Err(missing()) };
            if c == ']' && !is_first {
                self.rest.next();
                self.out.push(']');
                return Ok(());
            }
            is_first = false;
            let rest = &self.pattern[from..];
            if rest.starts_with("[:") && self.named_class(from)? {
                continue;
            }
            let mut ahead = rest.chars().skip(1);
            if c == '\\' {
                match ahead.next() {
                    Some('p' | 'P') => {
                        self.rest.next();
                        let class = self.unicode(from)?;
                        self.out.push_str(&class);
                        continue;
                    }
                    Some(second) if perl(second).is_some() => {
                        self.rest.nth(1);
                        let (is_not, set) = perl(second).unwrap_or_default();
                        self.out.push_str(&if is_not { format!("[^{set}]") } else { set.to_owned() });
                        continue;
                    }
                    _ => {}
                }
            }
            let low = self.class_character(at)?;
            let after = self.at();
            let mut following = self.pattern[after..].chars();
            let is_range = following.next() == Some('-') && following.next().is_some_and(|c| c != ']');
            let high = if is_range {
                self.rest.next();
                self.class_character(at)?
            } else {
                low
            };
            if high < low {
                return Err(format!("invalid character class range: `{}`", self.shown(from)));
            }
            self.out.push_str(&format!(r"\x{{{:x}}}-\x{{{:x}}}", u32::from(low), u32::from(high)));
        }
    }

    fn class_character(&mut self, class: usize) -> Result<char, String> {
        match self.rest.next() {
            None => Err(format!("missing closing ]: `{}`", &self.pattern[class..])),
            Some((at, '\\')) => self.escaped(at),
            Some((_, c)) => Ok(c),
        }
    }

    /// Reads `[:alpha:]`; returns whether it was one.
    fn named_class(&mut self, from: usize) -> Result<bool, String> {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        let Some(end) = self.pattern[from + 2..].find(":]") else { return Ok(false) };
        let end = from + 2 + end + 2;
        let whole = &self.pattern[from..end];
        let inner = &whole[2..whole.len() - 2];
        if !NAMES.contains(&inner.strip_prefix('^').unwrap_or(inner)) {
            return Err(format!("invalid character class range: `{whole}`"));
        }
        while self.at() < end {
            self.rest.next();
        }
        self.out.push_str(whole);
        Ok(true)
    }
}

/// Returns the class that `\d` and the like stand for, and whether it is negated.
pub(super) fn perl(c: char) -> Option<(bool, &'static str)> {
    let set = match c.to_ascii_lowercase() {
        'd' => DIGIT,
        's' => SPACE,
        'w' => WORD,
        _ => return None,
    };
    Some((c.is_ascii_uppercase(), set))
}
