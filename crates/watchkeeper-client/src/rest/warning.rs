//! Warnings: what a server wants a user to know.

use std::collections::HashSet;
use std::fmt;

use http::HeaderMap;
use http::header::WARNING;
use parking_lot::Mutex;

/// A `Warning` header: `299 - "text"`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Warning {
    /// Its code; API servers send 299.
    pub code: u16,
    /// Who warns; mostly `-`.
    pub agent: String,
    /// What of.
    pub text: String,
}

/// Hears of warnings.
pub trait Warnings: fmt::Debug + Send + Sync {
    /// The server has warned. Called before the answer is handed out; it must not block.
    fn warn(&self, warning: &Warning);
}

/// Nobody hears.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWarnings;

impl Warnings for NoWarnings {
    fn warn(&self, _: &Warning) {}
}

/// How many texts are remembered.
const REMEMBERED: usize = 1024;

/// Logs each text once; those of codes other than 299, and empty ones, never.
#[derive(Debug, Default)]
pub struct WarnOnce {
    told: Mutex<HashSet<String>>,
}

impl WarnOnce {
    /// Whether this is to be told.
    fn is_news(&self, warning: &Warning) -> bool {
        if warning.code != 299 || warning.text.is_empty() {
            return false;
        }
        let mut told = self.told.lock();
        if told.len() >= REMEMBERED {
            told.clear(); // rather told again than remembered without bound
        }
        told.insert(warning.text.clone())
    }
}

impl Warnings for WarnOnce {
    fn warn(&self, warning: &Warning) {
        if self.is_news(warning) {
            tracing::warn!("{}", warning.text);
        }
    }
}

/// The warnings of an answer. What is not one is left out.
pub(super) fn of(headers: &HeaderMap) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for header in headers.get_all(WARNING) {
        let text = String::from_utf8_lossy(header.as_bytes());
        let mut rest = text.trim_start();
        while let Some((warning, after)) = one(rest) {
            warnings.push(warning);
            // A date may follow, and then another warning after a comma.
            let after = after.trim_start();
            let after =
                after.strip_prefix('"').and_then(|date| date.split_once('"')).map_or(after, |(_, it)| it);
            match after.trim_start().strip_prefix(',') {
                Some(next) => rest = next.trim_start(),
                None => break,
            }
        }
    }
    warnings
}

fn one(text: &str) -> Option<(Warning, &str)> {
    let (code, rest) = text.split_once(' ')?;
    let code = code.parse().ok().filter(|_| code.len() == 3)?;
    let (agent, rest) = rest.split_once(' ')?;
    let quoted = rest.trim_start().strip_prefix('"')?;
    let mut text = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((Warning { code, agent: agent.to_owned(), text }, &quoted[at + 1..])),
            '\\' => text.push(characters.next()?.1),
            other => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(header: &str) -> Vec<String> {
        let headers = HeaderMap::from_iter([(WARNING, header.parse().unwrap())]);
        of(&headers).into_iter().map(|warning| warning.text).collect()
    }

    #[test]
    fn warnings_are_read_from_headers() {
        assert_eq!(texts(r#"299 - "unknown field \"a\"""#), ["unknown field \"a\""]);
        assert_eq!(texts(r#"299 - "a" "Wed, 21 Oct 2015 07:28:00 GMT", 299 - "b""#), ["a", "b"]);
        assert_eq!(texts(r#"199 agent:80 "a, \\ b" , 299 - "c"  "date""#), ["a, \\ b", "c"]);
        assert_eq!(texts(r#"299 - "a", nonsense, 299 - "b""#), ["a"], "what follows nonsense is nonsense");
        let several = [r#"299 - "a""#, "nonsense", r#"299 - "b""#].map(|it| (WARNING, it.parse().unwrap()));
        let several: Vec<Warning> =
            of(&several.into_iter().fold(HeaderMap::new(), |mut all, (name, value)| {
                all.append(name, value);
                all
            }));
        assert_eq!(
            several.iter().map(|it| &*it.text).collect::<Vec<_>>(),
            ["a", "b"],
            "each header for itself"
        );
        for broken in ["", "299", "299 -", "299 - text", r#"29 - "a""#, r#"299 - "a"#] {
            assert_eq!(texts(broken), [""; 0], "{broken}");
        }
    }

    #[test]
    fn each_text_is_told_once() {
        let once = WarnOnce::default();
        let warning = |code, text: &str| Warning { code, agent: "-".into(), text: text.into() };
        assert!(once.is_news(&warning(299, "a")) && !once.is_news(&warning(299, "a")));
        assert!(once.is_news(&warning(299, "b")));
        assert!(!once.is_news(&warning(199, "c")) && !once.is_news(&warning(299, "")));
    }
}
