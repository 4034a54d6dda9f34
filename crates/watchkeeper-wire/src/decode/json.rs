//! Decoding of JSON: serde_json, with `apiVersion` and `kind` added.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};

use super::DecodeError;
use super::text::Text;
use crate::typed::message_of_token;
use crate::{Kind, Malformed, Problem};

pub(super) fn decode<'de, T: Deserialize<'de>>(body: &'de [u8], kind: &'de Kind) -> Result<T, DecodeError> {
    // Validating the whole text once is cheaper than validating each string.
    let text = std::str::from_utf8(body)
        .map_err(|error| Malformed::new(error.valid_up_to(), Problem::InvalidUtf8))?;
    T::deserialize(Typed { text, kind }).map_err(DecodeError::Json)
}

/// A deserializer of an object that begins with its type.
struct Typed<'de> {
    text: &'de str,
    kind: &'de Kind,
}

impl<'de> Deserializer<'de> for Typed<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_str(self.text);
        let value = reader.deserialize_map(TypedVisitor { inner: visitor, kind: self.kind })?;
        reader.end()?;
        Ok(value)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, serde_json::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, serde_json::Error> {
        match message_of_token(name) {
            None => visitor.visit_newtype_struct(self),
            Some(expected) => match check_message(expected, self.kind) {
                Ok(()) => visitor.visit_borrowed_str(self.text),
                Err(error) => Err(serde_json::Error::custom(error)),
            },
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Checks that a kind has the message of a generated type.
pub(super) fn check_message(expected: &str, kind: &Kind) -> Result<(), DecodeError> {
    match kind.message() {
        Some(message) if message.name() == expected => Ok(()),
        _ => Err(DecodeError::wrong_type(expected, &kind.name().to_string())),
    }
}

struct TypedVisitor<'de, V> {
    inner: V,
    kind: &'de Kind,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for TypedVisitor<'de, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(TypedMap { inner: map, types: TypeEntries::of(self.kind), value: None })
    }
}

/// The type entries of an object: the kind, then the version, as Go writes them.
#[derive(Debug)]
pub(super) struct TypeEntries<'de> {
    kind: &'de Kind,
    left: u8,
}

impl<'de> TypeEntries<'de> {
    /// Returns the entries of a kind. Kinds without a version are not API objects and have none.
    pub(super) fn of(kind: &'de Kind) -> Self {
        Self { kind, left: if kind.name().version.is_empty() { 0 } else { 2 } }
    }
}

impl<'de> Iterator for TypeEntries<'de> {
    type Item = (&'static str, &'de str);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        Some(match self.left {
            0 => ("apiVersion", self.kind.api_version()),
            _ => ("kind", self.kind.kind()),
        })
    }
}

struct TypedMap<'de, A> {
    inner: A,
    types: TypeEntries<'de>,
    value: Option<&'de str>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for TypedMap<'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.types.next() {
            Some((name, value)) => {
                self.value = Some(value);
                seed.deserialize(Text::new(name)).map(Some)
            }
            None => self.inner.next_key_seed(seed),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        match self.value.take() {
            Some(value) => seed.deserialize(Text::new(value)),
            None => self.inner.next_value_seed(seed),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}
