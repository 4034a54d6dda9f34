//! Decoding of either encoding into any `Deserialize` type.
//!
//! Input: the [`Encoded`] bodies of the store.
//! Output: a generated type, a custom resource's, or a struct with a few fields.
//!
//! - `decode.D1`: serde sees protobuf exactly as the JSON that Go writes for it: the same names,
//!   omissions and nulls. A type thus decodes from both encodings.
//! - `decode.D2`: fields that the type does not have are skipped.

mod error;
mod fields;
mod json;
mod text;
mod value;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use watchkeeper_core::{Encoded, Encoding};

pub use error::DecodeError;
pub(crate) use fields::Fields;
pub(crate) use value::RAW_JSON;

use crate::typed::message_of_token;
use crate::{Kind, values};

/// Decodes a body as a `T`. Adds `apiVersion` and `kind`, which stored bodies lack, unless the kind has no version.
///
/// ```
/// use serde::Deserialize;
/// use watchkeeper_core::Encoded;
/// use watchkeeper_wire::{Kind, decode};
///
/// #[derive(Deserialize)]
/// struct Placement {
///     spec: Spec,
/// }
///
/// #[derive(Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Spec {
///     node_name: Option<String>,
/// }
///
/// let body = Encoded::json(br#"{"metadata":{"name":"web-0"},"spec":{"nodeName":"n1"}}"#.as_slice());
/// let pod: Placement = decode(&body, &Kind::new("", "v1", "Pod"))?;
/// assert_eq!(pod.spec.node_name.as_deref(), Some("n1"));
/// # Ok::<(), watchkeeper_wire::DecodeError>(())
/// ```
///
/// # Errors
/// If the body is malformed or not a `T`, is protobuf of a kind without a message, or has far more values than usual
/// for its size.
pub fn decode<'de, T: Deserialize<'de>>(encoded: &'de Encoded, kind: &'de Kind) -> Result<T, DecodeError> {
    decode_bytes(encoded.encoding, &encoded.body, kind)
}

/// Decodes borrowed bytes, as [`decode`] does.
///
/// # Errors
/// As [`decode`].
pub fn decode_bytes<'de, T: Deserialize<'de>>(
    encoding: Encoding,
    body: &'de [u8],
    kind: &'de Kind,
) -> Result<T, DecodeError> {
    match encoding {
        Encoding::Json => {
            values::check_json(body)?;
            json::decode(body, kind)
        }
        Encoding::Protobuf => {
            values::check_protobuf(kind.require_message()?, body)?;
            T::deserialize(Root { body, kind })
        }
    }
}

/// A deserializer of a protobuf object.
struct Root<'de> {
    body: &'de [u8],
    kind: &'de Kind,
}

impl<'de> Deserializer<'de> for Root<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        Fields::of(self.body, self.kind)?.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match message_of_token(name) {
            None => visitor.visit_newtype_struct(self),
            Some(expected) => {
                json::check_message(expected, self.kind)?;
                visitor.visit_borrowed_bytes(self.body)
            }
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
