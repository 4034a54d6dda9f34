//! Typed decode: any `Deserialize` type out of either encoding.
//!
//! From: the [`Encoded`] bodies of the store.
//! To:   whoever asked for a type: a generated one, a custom resource's, or three fields of a Pod.
//!
//! - D1: protobuf is shown to serde exactly as the JSON that Go would write for it: same names, same
//!   omissions, same nulls. So a type that reads the one reads the other.
//! - D2: what the type does not ask for is passed over, not decoded.

mod error;
mod fields;
mod json;
mod text;
mod value;

use serde::Deserialize;
use watchkeeper_core::{Encoded, Encoding};

pub use error::DecodeError;
pub(crate) use fields::Fields;
pub(crate) use value::RAW_JSON;

use crate::{Kind, values};

/// Decodes a body as a `T`. `apiVersion` and `kind`, which no stored body has, are added, unless the kind has no
/// version: then it is none of an API's, and the body is decoded as it is.
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
/// Where the body is malformed, where it is not a `T`, where it is protobuf of a kind that has no message, or where it
/// has far more values than an object of its size needs.
pub fn decode<'de, T: Deserialize<'de>>(encoded: &'de Encoded, kind: &'de Kind) -> Result<T, DecodeError> {
    decode_bytes(encoded.encoding, &encoded.body, kind)
}

/// Decodes a body that is not kept, as [`decode`] does.
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
            let fields = Fields::of(body, kind)?;
            T::deserialize(fields)
        }
    }
}
