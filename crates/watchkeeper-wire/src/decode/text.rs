//! A deserializer for keys and types.

use std::marker::PhantomData;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserializer, Error, Visitor};

/// Deserializes a string as JSON does: as itself, an option, a newtype or the name of a variant.
pub(super) struct Text<'de, E> {
    text: &'de str,
    error: PhantomData<E>,
}

impl<'de, E> Text<'de, E> {
    #[inline]
    pub(super) fn new(text: &'de str) -> Self {
        Self { text, error: PhantomData }
    }
}

impl<'de, E: Error> Deserializer<'de> for Text<'de, E> {
    type Error = E;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_borrowed_str(self.text)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, E> {
        BorrowedStrDeserializer::new(self.text).deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}
