//! Transcoding between JSON and protobuf by the schema tables, as Go does it.
//!
//! Input: the [`Encoded`] bodies of the store, or the body of a request.
//! Output: the body of a response in the requested encoding.

mod to_json;
mod to_protobuf;

pub(crate) use crate::json::write_text;
pub(crate) use to_json::{write_base64, write_double, write_entry};
pub(crate) use to_protobuf::decode_base64;

use watchkeeper_core::{Encoded, Encoding};

use crate::{DecodeError, Kind};

/// Whether to include the type of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Types {
    /// Include `apiVersion` and `kind`: for a single object or a watch event.
    Named,
    /// Omit them: for an item of a list.
    Omitted,
}

/// Appends a body to `out` as JSON. The body must not contain its type, which [`Types::Named`] adds.
///
/// ```
/// use watchkeeper_core::Encoded;
/// use watchkeeper_wire::{Kind, transcode::{self, Types}};
///
/// let body = Encoded::json(br#"{"metadata":{"name":"web-0"}}"#.as_slice());
/// let mut out = Vec::new();
/// transcode::to_json(&body, &Kind::new("", "v1", "Pod"), Types::Named, &mut out)?;
/// assert_eq!(out, br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0"}}"#);
/// # Ok::<(), watchkeeper_wire::DecodeError>(())
/// ```
///
/// # Errors
/// If the body is not a JSON object, is malformed protobuf, or is protobuf of a kind without a message. `out` is then
/// unchanged.
pub fn to_json(encoded: &Encoded, kind: &Kind, types: Types, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let start = out.len();
    let written = match encoded.encoding {
        Encoding::Json => to_json::splice(&encoded.body, kind, types, out),
        Encoding::Protobuf => to_json::write(&encoded.body, kind, types, out),
    };
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Converts a body to a protobuf message, without an envelope ([`wrap`](crate::protobuf::wrap) adds one).
/// Unknown fields are dropped, as by Go without strict field validation.
///
/// ```
/// use watchkeeper_core::Encoded;
/// use watchkeeper_wire::{Kind, transcode};
///
/// let body = Encoded::json(br#"{"data":{"a":"1"}}"#.as_slice());
/// let message = transcode::to_protobuf(&body, &Kind::new("", "v1", "ConfigMap"))?;
/// assert!(message.ends_with(b"\x12\x06\x0a\x01a\x12\x011"));
/// # Ok::<(), watchkeeper_wire::DecodeError>(())
/// ```
///
/// # Errors
/// If the body is malformed JSON or does not match the kind, or if the kind has no message.
pub fn to_protobuf(encoded: &Encoded, kind: &Kind) -> Result<Vec<u8>, DecodeError> {
    match encoded.encoding {
        Encoding::Json => to_protobuf::write(&encoded.body, kind),
        Encoding::Protobuf => Ok(encoded.body.to_vec()),
    }
}
