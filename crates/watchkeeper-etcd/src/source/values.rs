//! Values: decoders of the encodings that keys can have.

use serde::Deserialize;
use watchkeeper_core::{BoxError, Encoded, ObjectMetaBuilder};

use crate::KeyValue;

/// A decoder of values. Implemented by closures. This one stores text as JSON and adds a label:
///
/// ```
/// use watchkeeper_core::{BoxError, Encoded, ObjectMetaBuilder};
/// use watchkeeper_etcd::{Etcd, EtcdSource, KeyValue};
///
/// # let etcd = Etcd::builder(["http://127.0.0.1:2379"]).build()?;
/// let notes = EtcdSource::new(etcd, "/notes/").values(|kv: &KeyValue, metadata: &mut ObjectMetaBuilder| {
///     let text = std::str::from_utf8(&kv.value)?;
///     metadata.label("long", if text.len() > 80 { "yes" } else { "no" });
///     Ok::<_, BoxError>(Encoded::json(serde_json::json!({ "text": text }).to_string().into_bytes()))
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ValueDecoder: Send + Sync {
    /// Decodes a value. Labels, owners and other metadata go into `metadata`; key, resource version and UID come from
    /// etcd.
    ///
    /// # Errors
    /// If the value is not an object: the key is skipped, and [reported](crate::EtcdSource::on_skipped).
    fn decode(&self, kv: &KeyValue, metadata: &mut ObjectMetaBuilder) -> Result<Encoded, BoxError>;
}

impl<F> ValueDecoder for F
where
    F: Fn(&KeyValue, &mut ObjectMetaBuilder) -> Result<Encoded, BoxError> + Send + Sync,
{
    fn decode(&self, kv: &KeyValue, metadata: &mut ObjectMetaBuilder) -> Result<Encoded, BoxError> {
        self(kv, metadata)
    }
}

/// A decoder that keeps JSON objects unchanged, with the labels in `metadata.labels`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Json;

/// Other fields are validated and skipped.
#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    metadata: serde_json::Value,
}

impl ValueDecoder for Json {
    fn decode(&self, kv: &KeyValue, metadata: &mut ObjectMetaBuilder) -> Result<Encoded, BoxError> {
        if !kv.value.trim_ascii_start().starts_with(b"{") {
            return Err("value is not a JSON object".into());
        }
        let body: Body = serde_json::from_slice(&kv.value)?;
        let labels = body.metadata.get("labels").and_then(|labels| labels.as_object());
        for (name, value) in labels.into_iter().flatten() {
            if let Some(value) = value.as_str() {
                metadata.label(name, value);
            }
        }
        Ok(Encoded::json(&*kv.value))
    }
}

/// A decoder that keeps protocol buffers of the informer's kind unchanged; they have no `k8s` envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Protobuf;

impl ValueDecoder for Protobuf {
    fn decode(&self, kv: &KeyValue, _: &mut ObjectMetaBuilder) -> Result<Encoded, BoxError> {
        Ok(Encoded::protobuf(&*kv.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &'static str) -> Result<(Encoded, Vec<(String, String)>), BoxError> {
        let kv = KeyValue { value: value.into(), ..KeyValue::default() };
        let mut metadata = ObjectMetaBuilder::default();
        let encoded = Json.decode(&kv, &mut metadata)?;
        let metadata = metadata.finish();
        Ok((encoded, metadata.labels().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }

    #[test]
    fn json_objects_are_stored_unchanged_with_their_labels() {
        let labelled = r#" {"metadata":{"labels":{"app":"web","n":1}},"x":[1]}"#;
        let (encoded, labels) = read(labelled).unwrap();
        assert_eq!(encoded, Encoded::json(labelled.as_bytes()));
        assert_eq!(labels, [("app".to_owned(), "web".to_owned())]);
        for plain in ["{}", r#"{"a":1}"#, r#"{"metadata":7}"#, r#"{"metadata":{"labels":["a"]}}"#] {
            assert_eq!(read(plain).unwrap(), (Encoded::json(plain.as_bytes()), Vec::new()));
        }
    }

    #[test]
    fn other_values_than_json_objects_are_rejected() {
        for bad in ["", "[]", "[{}]", "7", "null", "{", "{} {}", r#"{"a":}"#, "text"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
