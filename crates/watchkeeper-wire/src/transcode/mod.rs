//! Transcoding: either encoding out of the other, by the tables, as Go does it.
//!
//! From: the [`Encoded`] bodies of the store, or the body of a request.
//! To:   the body of a response, in the encoding that was asked for.

mod to_json;
mod to_protobuf;

use watchkeeper_core::{Encoded, Encoding};

use crate::{DecodeError, Kind};

/// Whether an object says what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Types {
    /// With `apiVersion` and `kind`: an object on its own, or in a watch event.
    Named,
    /// Without them: an item of a list.
    Omitted,
}

/// Appends the JSON of a body. A body in JSON is spliced in as it is.
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
/// Where the body is malformed protobuf, or protobuf of a kind that has no message. `out` is as it
/// was then.
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

/// The protobuf message of a body, without an envelope ([`wrap`](crate::protobuf::wrap) adds one).
/// Fields that the kind does not have are left out, as Go does unless it is asked to be strict.
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
/// Where the body is malformed JSON or does not fit the kind, or where the kind has no message.
pub fn to_protobuf(encoded: &Encoded, kind: &Kind) -> Result<Vec<u8>, DecodeError> {
    match encoded.encoding {
        Encoding::Json => to_protobuf::write(&encoded.body, kind),
        Encoding::Protobuf => Ok(encoded.body.to_vec()),
    }
}
