//! Values: what of an object is in the value of a key.

use serde::Deserialize;
use watchkeeper_core::{BoxError, Encoded, ObjectMetaBuilder};

use crate::KeyValue;

/// How values are read.
///
/// A closure will do. This one keeps lines of text as JSON, and gives them a label to be selected by:
///
/// ```
/// use watchkeeper_core::{BoxError, Encoded, ObjectMetaBuilder};
/// use watchkeeper_etcd::{Etcd, EtcdSource, KeyValue};
///
/// # let etcd = Etcd::builder(["http://127.0.0.1:2379"]).build()?;
/// let notes = EtcdSource::new(etcd, "/notes/").values(|kv: &KeyValue, head: &mut ObjectMetaBuilder| {
///     let text = std::str::from_utf8(&kv.value)?;
///     head.label("long", if text.len() > 80 { "yes" } else { "no" });
///     Ok::<_, BoxError>(Encoded::json(serde_json::json!({ "text": text }).to_string().into_bytes()))
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Values: Send + Sync {
    /// Reads a value. What is known of the object besides its body goes into the head: labels, owners and the like;
    /// its key, version and uid come from etcd.
    ///
    /// # Errors
    /// Where the value is no object: it is left out, and [reported](crate::EtcdSource::on_skipped).
    fn read(&self, kv: &KeyValue, head: &mut ObjectMetaBuilder) -> Result<Encoded, BoxError>;
}

impl<F> Values for F
where
    F: Fn(&KeyValue, &mut ObjectMetaBuilder) -> Result<Encoded, BoxError> + Send + Sync,
{
    fn read(&self, kv: &KeyValue, head: &mut ObjectMetaBuilder) -> Result<Encoded, BoxError> {
        self(kv, head)
    }
}

/// JSON objects, as they are. If one has `metadata.labels`, those are its labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Json;

/// The rest is checked and passed over.
#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    metadata: serde_json::Value,
}

impl Values for Json {
    fn read(&self, kv: &KeyValue, head: &mut ObjectMetaBuilder) -> Result<Encoded, BoxError> {
        if !kv.value.trim_ascii_start().starts_with(b"{") {
            return Err("it is not a JSON object".into());
        }
        let body: Body = serde_json::from_slice(&kv.value)?;
        let labels = body.metadata.get("labels").and_then(|labels| labels.as_object());
        for (name, value) in labels.into_iter().flatten() {
            if let Some(value) = value.as_str() {
                head.label(name, value);
            }
        }
        Ok(Encoded::json(&*kv.value))
    }
}

/// Protocol buffers of the kind that the informer is made for, as they are, without an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Protobuf;

impl Values for Protobuf {
    fn read(&self, kv: &KeyValue, _: &mut ObjectMetaBuilder) -> Result<Encoded, BoxError> {
        Ok(Encoded::protobuf(&*kv.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &'static str) -> Result<(Encoded, Vec<(String, String)>), BoxError> {
        let kv = KeyValue { value: value.into(), ..KeyValue::default() };
        let mut head = ObjectMetaBuilder::default();
        let encoded = Json.read(&kv, &mut head)?;
        let head = head.finish();
        Ok((encoded, head.labels().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }

    #[test]
    fn json_objects_are_kept_as_they_are_with_the_labels_that_they_have() {
        let labelled = r#" {"metadata":{"labels":{"app":"web","n":1}},"x":[1]}"#;
        let (encoded, labels) = read(labelled).unwrap();
        assert_eq!(encoded, Encoded::json(labelled.as_bytes()));
        assert_eq!(labels, [("app".to_owned(), "web".to_owned())]);
        for plain in ["{}", r#"{"a":1}"#, r#"{"metadata":7}"#, r#"{"metadata":{"labels":["a"]}}"#] {
            assert_eq!(read(plain).unwrap(), (Encoded::json(plain.as_bytes()), Vec::new()));
        }
    }

    #[test]
    fn what_is_no_json_object_is_refused() {
        for bad in ["", "[]", "[{}]", "7", "null", "{", "{} {}", r#"{"a":}"#, "text"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
