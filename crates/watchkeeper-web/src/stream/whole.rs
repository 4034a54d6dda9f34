//! Whole objects as JSON.

use std::sync::Arc;

use serde_json::Value;
use watchkeeper_core::Object;
use watchkeeper_wire::Kind;
use watchkeeper_wire::transcode::{Types, to_json};

use crate::secret::{is_secret_kind, redact};

/// Encodes the objects of a resource.
#[derive(Debug)]
pub(super) struct Whole {
    kind: Kind,
    /// Whether values are redacted.
    is_secret: bool,
}

impl Whole {
    pub(super) fn new(kind: Kind) -> Self {
        Self { is_secret: is_secret_kind(&kind), kind }
    }

    /// Encodes an object on one line. An object that cannot be decoded becomes `null`.
    pub(super) fn write(&self, object: &Object) -> Arc<str> {
        let mut json = Vec::new();
        if to_json(&object.encoded, &self.kind, Types::Named, &mut json).is_err() {
            return "null".into();
        }
        if self.is_secret {
            let mut secret: Value = serde_json::from_slice(&json).unwrap_or_default();
            redact(&mut secret);
            return secret.to_string().into();
        }
        json.retain(|byte| !matches!(byte, b'\r' | b'\n')); // JSON strings contain none
        String::from_utf8(json).unwrap_or_else(|_| "null".to_owned()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchkeeper_core::{Encoded, HeadBuilder};

    fn written(kind: &str, body: &str) -> String {
        let object =
            Object { head: HeadBuilder::default().finish(), encoded: Encoded::json(body.as_bytes()) };
        Whole::new(Kind::new("", "v1", kind)).write(&object).to_string()
    }

    #[test]
    fn objects_are_one_line_and_secrets_are_redacted() {
        let kind = r#"{"kind":"ConfigMap","apiVersion":"v1""#;
        let map = |body| written("ConfigMap", body);
        assert_eq!(map(r#"{"data":{"b":"1", "a":"2"}}"#), format!(r#"{kind},"data":{{"b":"1", "a":"2"}}}}"#));
        assert_eq!(map("{\n\"data\":{\r\n}}"), format!(r#"{kind},"data":{{}}}}"#));
        let secret = written("Secret", r#"{"data":{"password":"aHVudGVyMg=="}}"#);
        assert!(secret.contains("redacted: 7 bytes") && !secret.contains("aHVudGVyMg"), "{secret}");
    }
}
