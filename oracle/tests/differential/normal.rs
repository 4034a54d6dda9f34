//! Normal form: replaces values that a server may choose freely with placeholders that keep their order.
//!
//! | in a response | becomes |
//! |---|---|
//! | the resource version of an object | `v3`: the third of all object versions seen in the scenario |
//! | any other version: of a list, of a bookmark, in a message | `>=v3`: at least the third, less than the fourth |
//! | a UID | `<uid of response 2>`: the first response that contained it |
//! | a time close to now | `<time>`, `<microtime>` |
//! | a name generated from `generateName` | `<generated1>` |
//! | a service account token | `<token>` |
//! | a continue token | its decoded contents, with the version as above |
//! | an age in a table, a service IP, a node port, an ETag, the server's address | `<age>` ... |
//! | an object quoted in a message | the object with sorted fields |
//! | `managedFields`, column descriptions | removed |
//!
//! The real server also writes objects of its own, so that a list may have a version that no object of the scenario
//! has: only its position among the object versions is comparable.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use watchkeeper_core::Timestamp;

/// A time is taken for one that the server set if it is less than this from now, in seconds.
const NEAR: i64 = 3 * 3600;

/// Returns whether a text is a single object in YAML. Lists have no name; tables have columns with names.
fn is_yaml_object(text: &str) -> bool {
    text.contains("\n  name: ") && !text.contains("\nkind: Table\n")
}

/// The freely chosen values of one server in one scenario.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    versions: BTreeSet<u64>,
    /// Number of responses seen.
    responses: usize,
    /// Placeholders of the UIDs.
    uids: HashMap<String, String>,
    generated: Vec<String>,
}

impl Symbols {
    /// Collects the values of a response.
    pub(crate) fn learn(&mut self, response: &Value) {
        self.responses += 1;
        self.learn_value(response);
    }

    fn learn_value(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                if let Some(Value::Object(metadata)) = map.get("metadata") {
                    self.learn_metadata(metadata);
                }
                // A rejection of a generated name is the only place where that name appears.
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
                    let first = format!("<uid of response {}>", self.responses);
                    self.uids.entry(uid.to_owned()).or_insert(first);
                }
                // A YAML body is a string here.
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

    /// Returns the newest object version seen.
    pub(crate) fn newest(&self) -> u64 {
        self.back(0)
    }

    /// Returns the object version `before` steps before the newest, or the oldest.
    pub(crate) fn back(&self, before: usize) -> u64 {
        let mut newest_first = self.versions.iter().rev();
        newest_first.nth(before).or(self.versions.first()).copied().unwrap_or(1)
    }

    /// Returns the normal form of a response.
    pub(crate) fn normalize(&self, value: &Value) -> Value {
        self.normalize_field("", value)
    }

    fn normalize_field(&self, key: &str, value: &Value) -> Value {
        match value {
            Value::Object(map) if key == "metadata" && !map.contains_key("name") => {
                let kept = map.iter().filter(|(key, _)| *key != "managedFields");
                let normalized = kept.map(|(key, value)| match (key.as_str(), value.as_str()) {
                    ("resourceVersion", Some(text)) if text.parse::<u64>().is_ok() => {
                        (key.clone(), self.position(text.parse().unwrap_or_default()).into())
                    }
                    _ => (key.clone(), self.normalize_field(key, value)),
                });
                normalized.collect()
            }
            Value::Object(map) => {
                let is_column = map.contains_key("priority") && map.contains_key("description");
                let kept = map
                    .iter()
                    .filter(|(key, _)| *key != "managedFields" && !(is_column && *key == "description"));
                kept.map(|(key, value)| (key.clone(), self.normalize_field(key, value))).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.normalize_field(key, item)).collect(),
            Value::String(text) => self.normalize_text(key, text).into(),
            Value::Number(_) if matches!(key, "nodePort" | "healthCheckNodePort") => "<port>".into(),
            value => value.clone(),
        }
    }

    fn normalize_text(&self, key: &str, text: &str) -> String {
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
        let mut text = self.normalize_quoted(&without_managed_fields(text));
        for (number, name) in self.generated.iter().enumerate() {
            text = text.replace(name, &format!("<generated{}>", number + 1));
        }
        let plain = text.clone();
        for uid in uids(&plain) {
            if let Some(first) = self.uids.get(uid) {
                text = text.replace(uid, first);
            }
        }
        text = replace_times(&text);
        if text.contains("127.0.0.1:") {
            text = replace_digits(&text, |before, _| {
                before.ends_with("127.0.0.1:").then(|| "<port>".to_owned())
            });
        }
        if text.contains("ersion") {
            let is_list = !is_yaml_object(&text);
            text = replace_digits(&text, |before, number| {
                let is_position =
                    ["(", "current: ", "resource version: "].iter().any(|it| before.ends_with(it))
                        || is_list && before.ends_with("\n  resourceVersion: \"");
                let is_named = before.ends_with("resourceVersion: \"");
                match (is_position, is_named || self.versions.contains(&number)) {
                    (true, _) => Some(self.position(number)),
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

    /// Normalizes the objects that are quoted in a text.
    fn normalize_quoted(&self, text: &str) -> String {
        let Some((before, _)) = text.split_once(r#""{\""#) else { return text.to_owned() };
        let mut quotes = serde_json::Deserializer::from_str(&text[before.len()..]).into_iter::<String>();
        let object = quotes.next().and_then(|quote| serde_json::from_str(&quote.ok()?).ok());
        let Some(object @ Value::Object(_)) = object else { return text.to_owned() };
        let after = &text[before.len() + quotes.byte_offset()..];
        format!("{before}{}{}", sorted(self.normalize_field("", &object)), self.normalize_quoted(after))
    }

    fn version(&self, version: u64) -> String {
        match self.versions.contains(&version) {
            true => format!("v{}", self.versions.range(..=version).count()),
            false => self.position(version),
        }
    }

    fn position(&self, version: u64) -> String {
        format!(">=v{}", self.versions.range(..=version).count())
    }

    fn token(&self, text: &str) -> String {
        let decoded = URL_SAFE_NO_PAD.decode(text).ok();
        match decoded.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) {
            Some(mut token) => {
                if let Some(version) = token["rv"].as_u64() {
                    token["rv"] = json!(self.position(version));
                }
                if let Some(start) = token["start"].as_str() {
                    token["start"] = self.normalize_text("", start).into();
                }
                token.to_string()
            }
            None => text.to_owned(),
        }
    }
}

/// Sorts the fields of all objects in a document by name.
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

/// Returns the UIDs in a text.
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

/// Replaces the times in a text that are close to now.
fn replace_times(text: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let is_near = |word: &str| {
        let time = word.parse::<Timestamp>().ok();
        time.is_some_and(|it| (it.seconds - i64::try_from(now).unwrap_or_default()).abs() < NEAR)
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
                    let placeholder = if word.contains('.') { "<microtime>" } else { "<time>" };
                    format!("{placeholder}{}", &piece[word.len()..])
                }
                false => piece.to_owned(),
            }
        })
        .collect()
}

/// Returns whether a text is an age such as `12s` or `3m4s`.
fn is_age(text: &str) -> bool {
    let is_part =
        |part: &str| part.len() > 1 && part[..part.len() - 1].bytes().all(|byte| byte.is_ascii_digit());
    text.ends_with(['s', 'm', 'h', 'd']) && text.split_inclusive(['s', 'm', 'h', 'd']).all(is_part)
}

/// Replaces each whole number in a text. The function receives the text before the number, and the number.
fn replace_digits(text: &str, replacement: impl Fn(&str, u64) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - at);
        let number = &rest[at..at + digits];
        out.push_str(&rest[..at]);
        let is_alone = !out.ends_with(|c: char| c.is_alphanumeric())
            && !rest[at + digits..].starts_with(|c: char| c.is_alphanumeric());
        let replaced = number.parse().ok().filter(|_| is_alone).and_then(|parsed| replacement(&out, parsed));
        out.push_str(replaced.as_deref().unwrap_or(number));
        rest = &rest[at + digits..];
    }
    out.push_str(rest);
    out
}

/// Removes `managedFields` from a YAML object.
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
