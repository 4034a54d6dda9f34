//! Whole objects as JSON.

use std::sync::Arc;

use serde_json::{Value, json};
use watchkeeper_core::Object;
use watchkeeper_wire::Kind;
use watchkeeper_wire::transcode::{Types, to_json};

use crate::secret::{is_secret_kind, redact};
use crate::undecodable::Undecodable;

/// An encoder of the objects of a resource.
#[derive(Debug)]
pub(super) struct ObjectEncoder {
    kind: Kind,
    /// Whether values are redacted.
    is_secret: bool,
    undecodable: Undecodable,
}

impl ObjectEncoder {
    pub(super) fn new(kind: Kind, undecodable: Undecodable) -> Self {
        Self { is_secret: is_secret_kind(&kind), kind, undecodable }
    }

    /// Encodes an object on one line. One that cannot be decoded is reported, and has only its type and identity.
    pub(super) fn encode(&self, object: &Object) -> Arc<str> {
        self.try_encode(object).unwrap_or_else(|error| {
            self.undecodable.report(self.kind.name(), object, &error);
            self.identity(object).to_string().into()
        })
    }

    fn try_encode(&self, object: &Object) -> Result<Arc<str>, String> {
        let mut json = Vec::new();
        to_json(&object.encoded, &self.kind, Types::Named, &mut json).map_err(|error| error.to_string())?;
        if self.is_secret {
            let mut secret: Value = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
            redact(&mut secret);
            return Ok(secret.to_string().into());
        }
        json.retain(|byte| !matches!(byte, b'\r' | b'\n')); // JSON strings contain none
        String::from_utf8(json).map(Into::into).map_err(|error| error.to_string())
    }

    fn identity(&self, object: &Object) -> Value {
        let head = &object.metadata;
        let mut metadata =
            json!({"name": head.key().name(), "uid": head.uid(), "resourceVersion": head.resource_version()});
        if let Some(namespace) = head.key().namespace() {
            metadata["namespace"] = namespace.into();
        }
        json!({"apiVersion": self.kind.api_version(), "kind": self.kind.kind(), "metadata": metadata})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchkeeper_core::{Encoded, ObjectMetaBuilder};
    use watchkeeper_metrics::Registry;

    fn encoded(registry: &Registry, kind: &str, body: &str) -> String {
        let head = ObjectMetaBuilder::default().namespace("shop").name("a").uid("u").version("7").finish();
        let object = Object { metadata: head, encoded: Encoded::json(body.as_bytes()) };
        let undecodable = Undecodable::new(registry).unwrap();
        ObjectEncoder::new(Kind::new("", "v1", kind), undecodable).encode(&object).to_string()
    }

    #[test]
    fn objects_are_one_line_and_secrets_are_redacted() {
        let kind = r#"{"kind":"ConfigMap","apiVersion":"v1""#;
        let map = |body| encoded(&Registry::new(), "ConfigMap", body);
        assert_eq!(map(r#"{"data":{"b":"1", "a":"2"}}"#), format!(r#"{kind},"data":{{"b":"1", "a":"2"}}}}"#));
        assert_eq!(map("{\n\"data\":{\r\n}}"), format!(r#"{kind},"data":{{}}}}"#));
        let secret = encoded(&Registry::new(), "Secret", r#"{"data":{"password":"aHVudGVyMg=="}}"#);
        assert!(secret.contains("redacted: 7 bytes") && !secret.contains("aHVudGVyMg"), "{secret}");
    }

    #[test]
    fn undecodable_objects_are_counted_and_keep_their_identity() {
        let registry = Registry::new();
        let object: Value = serde_json::from_str(&encoded(&registry, "ConfigMap", "[]")).unwrap();
        let metadata = json!({"name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "7"});
        assert_eq!(object, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}));
        let counted = "watchkeeper_web_undecodable_objects_total{kind=\"v1, Kind=ConfigMap\"} 1\n";
        assert!(registry.render().contains(counted), "{}", registry.render());
    }
}
