//! Config maps and secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use watchkeeper_core::Quoted;

use super::KindRules;
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::syntax::config_key;

/// The maximum size of all values of an object.
const MOST_BYTES: usize = 1 << 20;
const SEALED: &str = "field is immutable when `immutable` is set";

#[derive(Debug)]
pub(in crate::rules) struct ConfigMaps;

impl KindRules for ConfigMaps {
    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        config_map(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        sealed(old, new, &["data", "binaryData"], faults);
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
    }
}

#[derive(Debug)]
pub(in crate::rules) struct Secrets;

impl KindRules for Secrets {
    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        secret(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        faults.immutable(&new.field("type"), &old.field("type"));
        sealed(old, new, &["data"], faults);
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
    }
}

/// Checks a config map, except for its metadata.
fn config_map(object: Object<'_>, faults: &mut Faults) {
    let (texts, binaries) = (object.field("data"), object.field("binaryData"));
    let mut bytes = 0;
    for (key, value) in texts.entries() {
        keyed(&texts, key, faults);
        if binaries.key(key).is_set() {
            let why = "duplicate of key present in binaryData";
            faults.invalid_value(&texts.key(key), Quoted(key), why);
        }
        bytes += value.len();
    }
    for (key, value) in binaries.entries() {
        keyed(&binaries, key, faults);
        bytes += decoded_len(value.text());
    }
    if bytes > MOST_BYTES {
        faults.too_long(&Field::at("", texts.value()), MOST_BYTES);
    }
}

/// Checks a secret, except for its metadata. `stringData` counts as `data`.
fn secret(object: Object<'_>, faults: &mut Faults) {
    let (data, plain) = (object.field("data"), object.field("stringData"));
    let mut bytes = 0;
    for (key, value) in plain.entries() {
        keyed(&data, key, faults);
        bytes += value.len();
    }
    for (key, value) in data.entries().filter(|(key, _)| !plain.key(key).is_set()) {
        keyed(&data, key, faults);
        bytes += decoded_len(value.text());
    }
    if bytes > MOST_BYTES {
        faults.too_long(&data, MOST_BYTES);
    }
    let has = |key: &str| data.key(key).is_set() || plain.key(key).is_set();
    let need = |key: &str, faults: &mut Faults| {
        if !has(key) {
            faults.required(&data.key(key), "");
        }
    };
    match object.field("type").text() {
        "kubernetes.io/service-account-token" => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            if object.annotation(ACCOUNT).unwrap_or_default().is_empty() {
                faults.required(&object.field("metadata").child("annotations").key(ACCOUNT), "");
            }
        }
        "kubernetes.io/dockercfg" => document(&data.key(".dockercfg"), &plain, faults),
        "kubernetes.io/dockerconfigjson" => document(&data.key(".dockerconfigjson"), &plain, faults),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            need("username", faults);
            need("password", faults);
        }
        "kubernetes.io/ssh-auth" => {
            let key = "ssh-privatekey";
            if data.key(key).is_empty() && plain.key(key).is_empty() {
                faults.required(&data.key(key), "");
            }
        }
        "kubernetes.io/tls" => {
            need("tls.crt", faults);
            need("tls.key", faults);
        }
        _ => {}
    }
}

/// Checks that an immutable config map or secret is unchanged.
fn sealed(old: Object<'_>, new: Object<'_>, parts: &[&str], faults: &mut Faults) {
    if !old.field("immutable").is_true() {
        return;
    }
    if !new.field("immutable").is_true() {
        faults.forbidden(&new.field("immutable"), SEALED);
    }
    for part in parts {
        if old.field(part).value() != new.field(part).value() {
            faults.forbidden(&new.field(part), SEALED);
        }
    }
}

fn keyed(field: &Field<'_>, key: &str, faults: &mut Faults) {
    for why in config_key(key) {
        faults.invalid_value(&field.key(key), Quoted(key), &why);
    }
}

/// Checks that a value is a JSON object. The message does not show the value.
fn document(field: &Field<'_>, plain: &Field<'_>, faults: &mut Faults) {
    let key = field.path().trim_start_matches("data[").trim_end_matches(']');
    let bytes = match (plain.key(key).value(), field.value()) {
        (Value::String(text), _) => text.clone().into_bytes(),
        (_, Value::String(text)) => STANDARD.decode(text).unwrap_or_default(), // invalid base64 is not JSON either
        _ => {
            faults.required(field, "");
            return;
        }
    };
    let why = match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(other) => format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            }
        ),
        Err(error) if error.is_eof() => "unexpected end of JSON input".to_owned(),
        Err(_) => syntax(&bytes),
    };
    faults.invalid_value(field, "\"<secret contents redacted>\"", &why);
}

/// Returns Go's message for bytes that do not begin a JSON value.
fn syntax(bytes: &[u8]) -> String {
    let first = bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace()).unwrap_or_default();
    format!("invalid character '{}' looking for beginning of value", char::from(first))
}

fn decoded_len(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}
