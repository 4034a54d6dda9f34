//! The envelope around every protobuf body: four bytes that say so, the type, and the message.

use super::{Cursor, Wire, put_bytes, put_tag, put_varint};
use crate::{Malformed, Problem};

/// What every protobuf body of Kubernetes starts with.
pub const MAGIC: [u8; 4] = *b"k8s\0";

/// An opened envelope. The message is a slice of the body.
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
    /// `apps/v1`; empty where the sender leaves it to be known.
    pub api_version: &'a str,
    /// `Deployment`; empty where the sender leaves it to be known.
    pub kind: &'a str,
    /// The message of the kind.
    pub message: &'a [u8],
    /// How the message says it is laid out: empty for protobuf, `application/json` for JSON.
    pub content_type: &'a str,
    /// Where `message` starts in the body.
    pub message_offset: usize,
}

impl<'a> Envelope<'a> {
    /// Opens the envelope of a body.
    ///
    /// # Errors
    /// Where the body has no magic, is cut short, or says that its message is compressed.
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
                    envelope.message_offset = shift + cursor.position() - envelope.message.len();
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

/// `apiVersion` and `kind` of a body of which only the beginning has come; `None` where they have not yet, or do not
/// stand first.
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

/// Puts a message into an envelope, byte for byte as Go does.
pub fn wrap(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    wrap_written(api_version, kind, message.len(), |body| body.extend_from_slice(message))
}

/// Puts a message of `length` bytes into an envelope while it is written, so that a long one is not copied.
///
/// # Panics
/// Where another number of bytes is written.
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
    assert_eq!(body.len() - start, length, "the length stands before the message");
    body.extend_from_slice(&WRAP_END);
    body
}

/// The bytes of an envelope after its message: an empty content encoding and an empty content type.
pub const WRAP_END: [u8; 4] = [0x1a, 0, 0x22, 0];

/// The bytes of an envelope before its message of `length` bytes, for a message that is sent in pieces.
/// [`WRAP_END`] follows the message.
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
    fn a_body_without_the_magic_is_refused() {
        for body in [&b""[..], b"k8s", b"{}", b"k9s\0"] {
            assert_eq!(Envelope::open(body), Err(Malformed { offset: 0, problem: Problem::NoMagic }));
        }
    }

    #[test]
    fn every_truncation_is_an_error_or_an_earlier_end() {
        let body = wrap("apps/v1", "Deployment", &[7; 300]);
        for end in 0..body.len() {
            // Between fields a shorter body is a whole one; it then lacks its message or its tail.
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
    fn a_compressed_message_is_refused_by_name() {
        let mut body = MAGIC.to_vec();
        put_bytes(&mut body, 3, b"gzip");
        let error = Envelope::open(&body).unwrap_err();
        assert_eq!(error.problem, Problem::UnknownContentEncoding("gzip".into()));
    }
}
