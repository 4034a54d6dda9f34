//! Generated types in serde formats.
//!
//! A generated type asks its deserializer for a newtype struct with a special name, [`Message::TOKEN`]. The
//! deserializers of this crate recognize it and pass the bytes: as a string if they are JSON, as bytes if they are
//! protobuf. Other formats do not, and are converted to JSON while they are read.

use std::fmt;
use std::marker::PhantomData;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::{
    ByteString, IntOrString, Map, Message, MicroTime, Quantity, RawJson, Str, Strings, Time, decode_json,
    decode_protobuf, to_json,
};
use crate::transcode::decode_base64;

/// Prefix of [`Message::TOKEN`].
const TOKEN_PREFIX: &str = "watchkeeper message ";

/// Returns the name of the message whose type asks for this newtype struct.
#[inline]
pub(crate) fn message_of_token(name: &'static str) -> Option<&'static str> {
    name.strip_prefix(TOKEN_PREFIX)
}

/// Deserializes a generated type: the body of its `Deserialize`.
///
/// # Errors
/// If the input is malformed, or not a `T`.
pub fn deserialize<'de, T: Message, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Bytes<T>(PhantomData<T>);

    impl<'de, T: Message> Visitor<'de> for Bytes<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an object of type {}", T::NAME)
        }

        fn visit_str<E: serde::de::Error>(self, json: &str) -> Result<T, E> {
            decode_json(json.as_bytes()).map_err(E::custom)
        }

        fn visit_bytes<E: serde::de::Error>(self, message: &[u8]) -> Result<T, E> {
            decode_protobuf(message).map_err(E::custom)
        }

        fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<T, D::Error> {
            let mut json = Vec::new();
            serde_transcode::transcode(value, &mut serde_json::Serializer::new(&mut json))
                .map_err(D::Error::custom)?;
            if let Some((api_version, kind)) = T::TYPE {
                check_type(&json, api_version, kind).map_err(D::Error::custom)?;
            }
            decode_json(&json).map_err(D::Error::custom)
        }
    }

    deserializer.deserialize_newtype_struct(T::TOKEN, Bytes(PhantomData))
}

/// Checks the type of an object that names one.
fn check_type(json: &[u8], api_version: &str, kind: &str) -> Result<(), String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Type {
        api_version: Option<String>,
        kind: Option<String>,
    }
    let found: Type = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let matches = found.api_version.as_deref().is_none_or(|found| found == api_version)
        && found.kind.as_deref().is_none_or(|found| found == kind);
    if matches {
        return Ok(());
    }
    let (found_version, found_kind) = (found.api_version.unwrap_or_default(), found.kind.unwrap_or_default());
    Err(format!("expected {kind} of {api_version}, found {found_kind} of {found_version}"))
}

/// Serializes a generated type: the body of its `Serialize`.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<T: Message, S: Serializer>(object: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let json = to_json(object);
    serde_transcode::transcode(&mut serde_json::Deserializer::from_slice(&json), serializer)
}

/// Serializes a type as its text, and parses it.
macro_rules! text {
    ($($type:ty),+) => {
        $(impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Scalar::deserialize(deserializer)?.text().parse().map_err(D::Error::custom)
            }
        })+
    };
}

text!(Quantity, Time, MicroTime);

/// A string or a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(Str),
    Int(i64),
    Double(f64),
}

impl Scalar {
    fn text(&self) -> Str {
        match self {
            Self::Text(text) => text.clone(),
            Self::Int(number) => ecow::eco_format!("{number}"),
            Self::Double(number) => ecow::eco_format!("{number}"),
        }
    }
}

impl Serialize for IntOrString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(number) => serializer.serialize_i32(*number),
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) => Ok(Self::String(text)),
            Scalar::Int(number) => i32::try_from(number).map(Self::Int).map_err(D::Error::custom),
            Scalar::Double(number) => Err(D::Error::custom(format_args!("{number} is not an integer"))),
        }
    }
}

impl Serialize for ByteString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Str::deserialize(deserializer)?;
        decode_base64(&text).map(Self).ok_or_else(|| D::Error::custom("invalid base64"))
    }
}

impl Serialize for Strings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self)
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_bytes() {
            b"" => serializer.serialize_unit(),
            json => serde_transcode::transcode(&mut serde_json::Deserializer::from_slice(json), serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut json = Vec::new();
        serde_transcode::transcode(deserializer, &mut serde_json::Serializer::new(&mut json))
            .map_err(D::Error::custom)?;
        Self::parse(json).map_err(D::Error::custom)
    }
}

impl<V: Serialize> Serialize for Map<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Map<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
            type Value = Map<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map with string keys")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Map<V>, A::Error> {
                let mut map = Map::new();
                while let Some((key, value)) = entries.next_entry::<Str, V>()? {
                    map.insert(key, value);
                }
                Ok(map)
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}
