//! The envelope of every protobuf body: a magic number, the type and the message.

use super::{Cursor, Wire, put_bytes, put_tag, put_varint};
use crate::{Malformed, Problem};

/// The magic number at the start of every Kubernetes protobuf body.
pub const MAGIC: [u8; 4] = *b"k8s\0";

/// A parsed envelope, borrowed from the body.
///
/// ```
/// use watchkeeper_wire::protobuf::{Envelope, wrap};
///
/// let body = wrap("v1", "Pod", b"the message");
/// let envelope = Envelope::open(&body)?;
/// assert_eq!((envelope.api_version, envelope.kind), ("v1", "Pod"));
/// assert_eq!(envelope.message, b"the message");
/// # Ok::<(), watchkeeper_wire::Malformed>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Envelope<'a> {
    /// `apps/v1`; empty if the sender omitted it.
    pub api_version: &'a str,
    /// `Deployment`; empty if the sender omitted it.
    pub kind: &'a str,
    /// The message of the kind.
    pub message: &'a [u8],
    /// The content type of the message: empty for protobuf, `application/json` for JSON.
    pub content_type: &'a str,
    /// Offset of `message` in the body.
    pub message_offset: usize,
}

impl<'a> Envelope<'a> {
    /// Parses the envelope of a body.
    ///
    /// # Errors
    /// If the magic number is missing, the body is truncated, or its message is compressed.
    pub fn open(body: &'a [u8]) -> Result<Self, Malformed> {
        let Some(rest) = body.strip_prefix(&MAGIC) else { return Err(Malformed::new(0, Problem::NoMagic)) };
        let shift = MAGIC.len();
        Self::read(rest, shift).map_err(|error| error.shifted(shift as u64))
    }

    fn read(bytes: &'a [u8], shift: usize) -> Result<Self, Malformed> {
        let mut envelope = Self::default();
        let mut cursor = Cursor::new(bytes);
        while let Some(tag) = cursor.tag()? {
            if (1..=4).contains(&tag.field) {
                cursor.expect(tag, Wire::Bytes)?;
            }
            match tag.field {
                1 => (envelope.api_version, envelope.kind) = read_type(cursor.message()?)?,
                2 => {
                    envelope.message = cursor.bytes()?;
                    envelope.message_offset = shift + cursor.offset() - envelope.message.len();
                }
                3 => {
                    let at = cursor.offset();
                    let name = cursor.text()?;
                    if !name.is_empty() {
                        return Err(Malformed::new(at, Problem::UnknownContentEncoding(name.to_owned())));
                    }
                }
                4 => envelope.content_type = cursor.text()?,
                _ => cursor.skip(tag.wire)?,
            }
        }
        Ok(envelope)
    }
}

/// Returns the `apiVersion` and `kind` from the beginning of a body; `None` if they are incomplete or not first.
///
/// ```
/// use watchkeeper_wire::protobuf::{peek_type, wrap};
///
/// let body = wrap("v1", "PodList", b"the message");
/// assert_eq!(peek_type(&body[..19]), Some(("v1", "PodList")));
/// assert_eq!(peek_type(&body[..18]), None);
/// ```
pub fn peek_type(beginning: &[u8]) -> Option<(&str, &str)> {
    let mut cursor = Cursor::new(beginning.strip_prefix(&MAGIC)?);
    let tag = cursor.tag().ok()??;
    match (tag.field, tag.wire) {
        (1, Wire::Bytes) => read_type(cursor.message().ok()?).ok(),
        _ => None,
    }
}

/// Reads a `TypeMeta`: `apiVersion`, `kind`.
pub(super) fn read_type(mut cursor: Cursor<'_>) -> Result<(&str, &str), Malformed> {
    let (mut api_version, mut kind) = ("", "");
    while let Some(tag) = cursor.tag()? {
        match (tag.field, tag.wire) {
            (1, Wire::Bytes) => api_version = cursor.text()?,
            (2, Wire::Bytes) => kind = cursor.text()?,
            (1 | 2, _) => cursor.expect(tag, Wire::Bytes)?,
            _ => cursor.skip(tag.wire)?,
        }
    }
    Ok((api_version, kind))
}

/// Wraps a message in an envelope, byte for byte as Go does.
pub fn wrap(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    wrap_written(api_version, kind, message.len(), |body| body.extend_from_slice(message))
}

/// Writes an envelope and its message of `length` bytes without copying the message.
///
/// # Panics
/// If `write` appends another number of bytes.
pub fn wrap_written(
    api_version: &str,
    kind: &str,
    length: usize,
    write: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let mut body = wrap_start(api_version, kind, length);
    body.reserve_exact(length + WRAP_END.len());
    let start = body.len();
    write(&mut body);
    assert_eq!(body.len() - start, length, "message length differs from the prefix");
    body.extend_from_slice(&WRAP_END);
    body
}

/// The end of an envelope, after its message: empty content encoding and content type.
pub const WRAP_END: [u8; 4] = [0x1a, 0, 0x22, 0];

/// Returns the start of an envelope, before its message of `length` bytes. [`WRAP_END`] follows the message.
pub fn wrap_start(api_version: &str, kind: &str, length: usize) -> Vec<u8> {
    let mut type_meta = Vec::with_capacity(api_version.len() + kind.len() + 6);
    put_bytes(&mut type_meta, 1, api_version.as_bytes());
    put_bytes(&mut type_meta, 2, kind.as_bytes());

    let mut start = Vec::with_capacity(MAGIC.len() + type_meta.len() + 24);
    start.extend_from_slice(&MAGIC);
    put_bytes(&mut start, 1, &type_meta);
    put_tag(&mut start, 2, Wire::Bytes);
    put_varint(&mut start, length as u64);
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_without_the_magic_number_are_rejected() {
        for body in [&b""[..], b"k8s", b"{}", b"k9s\0"] {
            assert_eq!(Envelope::open(body), Err(Malformed { offset: 0, problem: Problem::NoMagic }));
        }
    }

    #[test]
    fn every_truncation_is_an_error_or_an_earlier_end() {
        let body = wrap("apps/v1", "Deployment", &[7; 300]);
        for end in 0..body.len() {
            // A body that ends between fields is valid, but lacks its message or its tail.
            if let Ok(envelope) = Envelope::open(&body[..end]) {
                assert!(envelope.message.is_empty() || end >= body.len() - 4, "cut at {end}");
            }
        }
    }

    #[test]
    fn the_offset_of_the_message_points_into_the_body() {
        let body = wrap("v1", "Pod", b"abc");
        let envelope = Envelope::open(&body).unwrap();
        assert_eq!(&body[envelope.message_offset..][..3], b"abc");
    }

    #[test]
    fn compressed_messages_are_rejected() {
        let mut body = MAGIC.to_vec();
        put_bytes(&mut body, 3, b"gzip");
        let error = Envelope::open(&body).unwrap_err();
        assert_eq!(error.problem, Problem::UnknownContentEncoding("gzip".into()));
    }
}
