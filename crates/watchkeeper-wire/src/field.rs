//! Reads the values at a field path from an encoded object.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use watchkeeper_core::{Encoded, Encoding};

use crate::decode::Fields;
use crate::{DecodeError, FieldPath, Kind};

/// Calls `found` for each value at a path, in the order of the body: strings as they are, numbers and booleans
/// as JSON. Lists on the path or at its end contribute each element; objects and nulls are skipped.
///
/// ```
/// use watchkeeper_core::Encoded;
/// use watchkeeper_wire::{FieldPath, Kind, read_field};
///
/// let pod = Encoded::json(*br#"{"spec":{"containers":[{"image":"nginx"},{"image":"redis"}]}}"#);
/// let mut images = Vec::new();
/// let path: FieldPath = "spec.containers.image".parse()?;
/// read_field(&pod, &Kind::new("", "v1", "Pod"), &path, &mut |image| images.push(image.to_owned()))?;
/// assert_eq!(images, ["nginx", "redis"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the body is malformed, or is protobuf of a kind without a message.
pub fn read_field(
    encoded: &Encoded,
    kind: &Kind,
    path: &FieldPath,
    found: &mut dyn FnMut(&str),
) -> Result<(), DecodeError> {
    let seek = Seek { path: path.parts(), found };
    match encoded.encoding {
        Encoding::Json => {
            let mut reader = serde_json::Deserializer::from_slice(&encoded.body);
            seek.deserialize(&mut reader).map_err(DecodeError::Json)
        }
        Encoding::Protobuf => seek.deserialize(Fields::untyped(&encoded.body, kind)?),
    }
}

/// The rest of the path, as a visitor.
struct Seek<'a> {
    path: &'a [Box<str>],
    found: &'a mut dyn FnMut(&str),
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Seek<'_> {
    fn value<E>(self, text: &str) -> Result<(), E> {
        if self.path.is_empty() {
            (self.found)(text);
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let first = self.path.first();
        while let Some(is_it) = map.next_key_seed(KeyIs(first.map(|name| &**name)))? {
            match (is_it, self.path.get(1..)) {
                (true, Some(path)) => map.next_value_seed(Seek { path, found: self.found })?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Seek { path: self.path, found: self.found })?.is_some() {}
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.value(text)
    }

    fn visit_bool<E>(self, boolean: bool) -> Result<(), E> {
        self.value(if boolean { "true" } else { "false" })
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.value(&number.to_string())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.value(&number.to_string())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.value(&serde_json::Value::from(number).to_string())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Deserializes a key as whether it is equal to this one.
struct KeyIs<'a>(Option<&'a str>);

impl<'de> DeserializeSeed<'de> for KeyIs<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyIs<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(self.0 == Some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcode::to_protobuf;

    fn read(encoded: &Encoded, path: &str) -> Vec<String> {
        let mut values = Vec::new();
        let path = path.parse().unwrap();
        read_field(encoded, &Kind::new("", "v1", "Pod"), &path, &mut |value| values.push(value.to_owned()))
            .unwrap();
        values
    }

    #[test]
    fn values_are_the_same_in_both_encodings() {
        let json = Encoded::json(
            *br#"{"metadata":{"name":"a","labels":{"app.io/x":"1"},"generation":7},"spec":{"nodeName":"n1",
            "hostNetwork":true,"containers":[{"name":"c","image":"i","args":["x","y"],"ports":[{"containerPort":80}]},
            {"name":"d"}]},"status":{"phase":null}}"#,
        );
        let message = to_protobuf(&json, &Kind::new("", "v1", "Pod")).unwrap();
        let protobuf = Encoded::protobuf(message);
        for (path, values) in [
            ("spec.nodeName", vec!["n1"]),
            ("metadata.generation", vec!["7"]),
            ("spec.hostNetwork", vec!["true"]),
            ("spec.containers.name", vec!["c", "d"]),
            ("spec.containers.args", vec!["x", "y"]),
            ("spec.containers.ports.containerPort", vec!["80"]),
            (r#"metadata.labels["app.io/x"]"#, vec!["1"]),
            ("spec.nodeName.more", vec![]),
            ("spec.containers", vec![]),
            ("status.phase", vec![]),
            ("spec.none", vec![]),
        ] {
            assert_eq!(read(&json, path), values, "{path} in JSON");
            assert_eq!(read(&protobuf, path), values, "{path} in protobuf");
        }
    }

    #[test]
    fn malformed_bodies_are_errors() {
        let path = "spec.nodeName".parse().unwrap();
        let kind = Kind::new("", "v1", "Pod");
        let broken = Encoded::json(*br#"{"spec":{"nodeName":"#);
        assert!(read_field(&broken, &kind, &path, &mut |_| ()).is_err());
        let other = Kind::new("example.com", "v1", "Widget");
        assert!(read_field(&Encoded::protobuf(*b"\x0a\x01"), &other, &path, &mut |_| ()).is_err());
    }
}
