//! Normal form: what two servers may choose freely, replaced by symbols that keep its order.
//!
//! | in an answer | becomes |
//! |---|---|
//! | the version of an object | `v3`: the third of all versions of objects seen in the scenario |
//! | any other version: of a list, of a bookmark, in a message | `>=v3`: not before the third, before the fourth |
//! | a UID | `<uid of answer 2>`: in which it was seen first |
//! | a moment close to now | `<time>`, `<microtime>` |
//! | a name made up after `generateName` | `<generated1>` |
//! | a token of a service account | `<token>` |
//! | a continue token | what it says, with its version as above |
//! | an age in a table, an address of the service range, a node port, an ETag, our own address | `<age>` ... |
//! | an object that is quoted in a message | its fields in the order of their names |
//! | `managedFields`, the descriptions of columns | nothing |
//!
//! The real server writes for itself now and then, so that the version of a list is not one of ours: only its
//! place among ours is told.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use watchkeeper_core::Timestamp;

/// How far from now a moment may be and still be the server's, in seconds.
const NEAR: i64 = 3 * 3600;

/// Whether a text is one object in YAML. Lists have no name, and tables have columns that have one.
fn is_yaml_object(text: &str) -> bool {
    text.contains("\n  name: ") && !text.contains("\nkind: Table\n")
}

/// What one server chose in one scenario.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    versions: BTreeSet<u64>,
    /// How many answers were seen, and in which of them each UID came first.
    answers: usize,
    uids: HashMap<String, String>,
    generated: Vec<String>,
}

impl Symbols {
    /// Learns what an answer shows for the first time.
    pub(crate) fn learn(&mut self, answer: &Value) {
        self.answers += 1;
        self.learn_value(answer);
    }

    fn learn_value(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                if let Some(Value::Object(metadata)) = map.get("metadata") {
                    self.learn_metadata(metadata);
                }
                // What a made up name is refused for.
                let text = |name: &str| map.get(name).and_then(Value::as_str).unwrap_or_default();
                if text("message").contains("metadata.generateName: ")
                    && let Some(name) = map.get("details").and_then(|details| details["name"].as_str())
                {
                    self.generated.push(name.to_owned());
                }
                map.values().for_each(|value| self.learn_value(value));
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn_value(item)),
            Value::String(text) => {
                for uid in uids(text) {
                    let first = format!("<uid of answer {}>", self.answers);
                    self.uids.entry(uid.to_owned()).or_insert(first);
                }
                // A body in YAML is a text to us.
                let versions = text.lines().filter(|line| line.starts_with("  resourceVersion: \""));
                for line in versions.filter(|_| is_yaml_object(text)) {
                    self.versions.extend(line.split('"').nth(1).and_then(|it| it.parse::<u64>().ok()));
                }
            }
            _ => {}
        }
    }

    fn learn_metadata(&mut self, metadata: &Map<String, Value>) {
        let text = |name: &str| metadata.get(name).and_then(Value::as_str);
        let Some(name) = text("name") else { return };
        if let Some(version) = text("resourceVersion").and_then(|it| it.parse().ok()) {
            self.versions.insert(version);
        }
        if let Some(prefix) = text("generateName")
            && name.strip_prefix(prefix).is_some_and(|suffix| suffix.len() == 5)
            && !self.generated.iter().any(|known| known == name)
        {
            self.generated.push(name.to_owned());
        }
    }

    /// The newest version of an object that was seen.
    pub(crate) fn newest(&self) -> u64 {
        self.back(0)
    }

    /// The version so many before the newest, or the oldest.
    pub(crate) fn back(&self, before: usize) -> u64 {
        let mut newest_first = self.versions.iter().rev();
        newest_first.nth(before).or(self.versions.first()).copied().unwrap_or(1)
    }

    /// An answer in its normal form.
    pub(crate) fn normal(&self, value: &Value) -> Value {
        self.shown("", value)
    }

    fn shown(&self, key: &str, value: &Value) -> Value {
        match value {
            Value::Object(map) if key == "metadata" && !map.contains_key("name") => {
                let kept = map.iter().filter(|(key, _)| *key != "managedFields");
                let shown = kept.map(|(key, value)| match (key.as_str(), value.as_str()) {
                    ("resourceVersion", Some(text)) if text.parse::<u64>().is_ok() => {
                        (key.clone(), self.place(text.parse().unwrap_or_default()).into())
                    }
                    _ => (key.clone(), self.shown(key, value)),
                });
                shown.collect()
            }
            Value::Object(map) => {
                let is_column = map.contains_key("priority") && map.contains_key("description");
                let kept = map
                    .iter()
                    .filter(|(key, _)| *key != "managedFields" && !(is_column && *key == "description"));
                kept.map(|(key, value)| (key.clone(), self.shown(key, value))).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.shown(key, item)).collect(),
            Value::String(text) => self.text(key, text).into(),
            Value::Number(_) if matches!(key, "nodePort" | "healthCheckNodePort") => "<port>".into(),
            value => value.clone(),
        }
    }

    fn text(&self, key: &str, text: &str) -> String {
        match key {
            "resourceVersion" => match text.parse() {
                Ok(version) => return self.version(version),
                Err(_) => return text.to_owned(),
            },
            "continue" if !text.is_empty() => return self.token(text),
            "cells" if is_age(text) => return "<age>".to_owned(),
            "etag" => return "<etag>".to_owned(),
            _ => {}
        }
        if text.starts_with("eyJ") && text.split('.').count() == 3 {
            return "<token>".to_owned();
        }
        if text.strip_prefix("10.0.0.").is_some_and(|rest| rest.parse::<u8>().is_ok()) {
            return "<address>".to_owned();
        }
        let mut text = self.quoted(&without_managed_fields(text));
        for (number, name) in self.generated.iter().enumerate() {
            text = text.replace(name, &format!("<generated{}>", number + 1));
        }
        let plain = text.clone();
        for uid in uids(&plain) {
            if let Some(first) = self.uids.get(uid) {
                text = text.replace(uid, first);
            }
        }
        text = moments(&text);
        if text.contains("127.0.0.1:") {
            text = replace_digits(&text, |before, _| {
                before.ends_with("127.0.0.1:").then(|| "<port>".to_owned())
            });
        }
        if text.contains("ersion") {
            let is_list = !is_yaml_object(&text);
            text = replace_digits(&text, |before, number| {
                let is_place = ["(", "current: ", "resource version: "].iter().any(|it| before.ends_with(it))
                    || is_list && before.ends_with("\n  resourceVersion: \"");
                let is_named = before.ends_with("resourceVersion: \"");
                match (is_place, is_named || self.versions.contains(&number)) {
                    (true, _) => Some(self.place(number)),
                    (_, true) => Some(self.version(number)),
                    _ => None,
                }
            });
        }
        let tokens = text.split_inclusive('\n').map(|line| match line.strip_prefix("  continue: ") {
            Some(token) => format!("  continue: {}\n", self.token(token.trim_end())),
            None => line.to_owned(),
        });
        tokens.collect()
    }

    /// A text with the objects that it quotes in their normal form.
    fn quoted(&self, text: &str) -> String {
        let Some((before, _)) = text.split_once(r#""{\""#) else { return text.to_owned() };
        let mut quotes = serde_json::Deserializer::from_str(&text[before.len()..]).into_iter::<String>();
        let object = quotes.next().and_then(|quote| serde_json::from_str(&quote.ok()?).ok());
        let Some(object @ Value::Object(_)) = object else { return text.to_owned() };
        let after = &text[before.len() + quotes.byte_offset()..];
        format!("{before}{}{}", sorted(self.shown("", &object)), self.quoted(after))
    }

    fn version(&self, version: u64) -> String {
        match self.versions.contains(&version) {
            true => format!("v{}", self.versions.range(..=version).count()),
            false => self.place(version),
        }
    }

    fn place(&self, version: u64) -> String {
        format!(">=v{}", self.versions.range(..=version).count())
    }

    fn token(&self, text: &str) -> String {
        let decoded = URL_SAFE_NO_PAD.decode(text).ok();
        match decoded.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) {
            Some(mut token) => {
                if let Some(version) = token["rv"].as_u64() {
                    token["rv"] = json!(self.place(version));
                }
                if let Some(start) = token["start"].as_str() {
                    token["start"] = self.text("", start).into();
                }
                token.to_string()
            }
            None => text.to_owned(),
        }
    }
}

/// A document with the fields of its objects in the order of their names.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<_, _> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            sorted.into_iter().collect()
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        value => value,
    }
}

/// The UIDs in a text.
fn uids(text: &str) -> impl Iterator<Item = &str> {
    let is_uid = |part: &str| {
        part.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
        })
    };
    let mut from = 0_usize;
    std::iter::from_fn(move || {
        while let Some(end) = from.checked_add(36).filter(|end| *end <= text.len()) {
            match text.get(from..end).filter(|part| is_uid(part)) {
                Some(uid) => {
                    from = end;
                    return Some(uid);
                }
                None => from += 1,
            }
        }
        None
    })
}

/// Replaces the moments in a text that are close to now.
fn moments(text: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let is_near = |word: &str| {
        let moment = word.parse::<Timestamp>().ok();
        moment.is_some_and(|it| (it.seconds - i64::try_from(now).unwrap_or_default()).abs() < NEAR)
    };
    if !text.contains('T') || !text.contains('Z') {
        return text.to_owned();
    }
    let pieces = text.split_inclusive([' ', '"', '\n']);
    pieces
        .map(|piece| {
            let word = piece.trim_end_matches([' ', '"', '\n']);
            match is_near(word) {
                true => {
                    let symbol = if word.contains('.') { "<microtime>" } else { "<time>" };
                    format!("{symbol}{}", &piece[word.len()..])
                }
                false => piece.to_owned(),
            }
        })
        .collect()
}

/// `12s`, `3m4s`: at least one number, each with its unit.
fn is_age(text: &str) -> bool {
    let is_part =
        |part: &str| part.len() > 1 && part[..part.len() - 1].bytes().all(|byte| byte.is_ascii_digit());
    text.ends_with(['s', 'm', 'h', 'd']) && text.split_inclusive(['s', 'm', 'h', 'd']).all(is_part)
}

fn replace_digits(text: &str, symbol: impl Fn(&str, u64) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - at);
        let number = &rest[at..at + digits];
        out.push_str(&rest[..at]);
        let is_alone = !out.ends_with(|c: char| c.is_alphanumeric())
            && !rest[at + digits..].starts_with(|c: char| c.is_alphanumeric());
        let shown = number.parse().ok().filter(|_| is_alone).and_then(|parsed| symbol(&out, parsed));
        out.push_str(shown.as_deref().unwrap_or(number));
        rest = &rest[at + digits..];
    }
    out.push_str(rest);
    out
}

/// An object in YAML without its `managedFields`.
fn without_managed_fields(text: &str) -> String {
    if !text.contains("  managedFields:\n") {
        return text.to_owned();
    }
    let mut skipping = None;
    let kept = text.split_inclusive('\n').filter(|line| {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if line.trim() == "managedFields:" {
            skipping = Some(indent);
            return false;
        }
        let inside =
            skipping.is_some_and(|at| indent > at || line[indent..].starts_with("- ") && indent == at);
        skipping = skipping.filter(|_| inside);
        !inside
    });
    kept.collect()
}
