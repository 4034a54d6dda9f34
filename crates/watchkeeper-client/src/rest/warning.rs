//! Warnings from the server.

use std::collections::HashSet;
use std::fmt;

use http::HeaderMap;
use http::header::WARNING;
use parking_lot::Mutex;

/// A `Warning` header: `299 - "text"`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Warning {
    /// The code; API servers send 299.
    pub code: u16,
    /// The agent, usually `-`.
    pub agent: String,
    /// The text.
    pub text: String,
}

/// A handler for warnings. (client-go: `rest.WarningHandler`.)
pub trait WarningHandler: fmt::Debug + Send + Sync {
    /// Handles a warning. Called before the response is returned; must not block.
    fn warn(&self, warning: &Warning);
}

/// A handler that ignores warnings.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWarnings;

impl WarningHandler for NoWarnings {
    fn warn(&self, _: &Warning) {}
}

/// Number of texts to remember.
const MAX_REMEMBERED: usize = 1024;

/// A handler that logs each text once. Empty texts and codes other than 299 are ignored.
#[derive(Debug, Default)]
pub struct WarnOnce {
    seen: Mutex<HashSet<String>>,
}

impl WarnOnce {
    /// Returns whether to log a warning.
    fn should_log(&self, warning: &Warning) -> bool {
        if warning.code != 299 || warning.text.is_empty() {
            return false;
        }
        let mut seen = self.seen.lock();
        if seen.len() >= MAX_REMEMBERED {
            seen.clear(); // bounds memory; texts may be logged again
        }
        seen.insert(warning.text.clone())
    }
}

impl WarningHandler for WarnOnce {
    fn warn(&self, warning: &Warning) {
        if self.should_log(warning) {
            tracing::warn!("{}", warning.text);
        }
    }
}

/// Parses the warnings of a response, skipping malformed ones.
pub(super) fn parse_all(headers: &HeaderMap) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for header in headers.get_all(WARNING) {
        let text = String::from_utf8_lossy(header.as_bytes());
        let mut rest = text.trim_start();
        while let Some((warning, after)) = parse_one(rest) {
            warnings.push(warning);
            // A date may follow, then a comma and the next warning.
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

fn parse_one(text: &str) -> Option<(Warning, &str)> {
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
        parse_all(&headers).into_iter().map(|warning| warning.text).collect()
    }

    #[test]
    fn warnings_are_read_from_headers() {
        assert_eq!(texts(r#"299 - "unknown field \"a\"""#), ["unknown field \"a\""]);
        assert_eq!(texts(r#"299 - "a" "Wed, 21 Oct 2015 07:28:00 GMT", 299 - "b""#), ["a", "b"]);
        assert_eq!(texts(r#"199 agent:80 "a, \\ b" , 299 - "c"  "date""#), ["a, \\ b", "c"]);
        assert_eq!(texts(r#"299 - "a", nonsense, 299 - "b""#), ["a"], "parsing stops at a malformed warning");
        let several = [r#"299 - "a""#, "nonsense", r#"299 - "b""#].map(|it| (WARNING, it.parse().unwrap()));
        let several: Vec<Warning> =
            parse_all(&several.into_iter().fold(HeaderMap::new(), |mut all, (name, value)| {
                all.append(name, value);
                all
            }));
        assert_eq!(
            several.iter().map(|it| &*it.text).collect::<Vec<_>>(),
            ["a", "b"],
            "headers are parsed independently"
        );
        for broken in ["", "299", "299 -", "299 - text", r#"29 - "a""#, r#"299 - "a"#] {
            assert_eq!(texts(broken), [""; 0], "{broken}");
        }
    }

    #[test]
    fn each_text_is_logged_once() {
        let once = WarnOnce::default();
        let warning = |code, text: &str| Warning { code, agent: "-".into(), text: text.into() };
        assert!(once.should_log(&warning(299, "a")) && !once.should_log(&warning(299, "a")));
        assert!(once.should_log(&warning(299, "b")));
        assert!(!once.should_log(&warning(199, "c")) && !once.should_log(&warning(299, "")));
    }
}
