//! Encoded objects: an object's bytes, alone and with its parsed metadata.

use std::fmt;

use crate::ObjectMeta;

/// The encoding of an object's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// A JSON object without `apiVersion` and `kind`.
    Json,
    /// The protobuf message of the kind, without the `k8s\0` envelope.
    Protobuf,
}

impl Encoding {
    /// Returns the media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// Returns the `Content-Type` of a watch: JSON events are lines, protobuf events are frames with a length.
    pub const fn watch_content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }

    /// Returns the encoding of a `Content-Type`, ignoring its parameters.
    ///
    /// ```
    /// use watchkeeper_core::Encoding;
    ///
    /// assert_eq!(Encoding::from_content_type("application/json;charset=utf-8"), Some(Encoding::Json));
    /// assert_eq!(Encoding::from_content_type("text/plain"), None);
    /// ```
    pub fn from_content_type(text: &str) -> Option<Self> {
        let media_type = text.split(';').next()?.trim();
        [Self::Json, Self::Protobuf].into_iter().find(|encoding| encoding.media_type() == media_type)
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encoding::Json => "JSON",
            Encoding::Protobuf => "protobuf",
        })
    }
}

/// An object as the server sent it, without the fields that were pruned while reading.
///
/// - `encoded.E1`: the body has no envelope and no type: neither `k8s\0` nor `apiVersion` and `kind`.
///   List items lack them and watch events have them, so a stored object would otherwise depend on
///   how it arrived.
/// - `encoded.E2`: the box has exactly the body's size and is never a slice of a socket buffer, so
///   memory accounting is exact.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Encoded {
    /// The encoding of `body`.
    pub encoding: Encoding,
    /// The bytes.
    pub body: Box<[u8]>,
}

impl Encoded {
    /// Creates a JSON body.
    pub fn json(body: impl Into<Box<[u8]>>) -> Self {
        Self { encoding: Encoding::Json, body: body.into() }
    }

    /// Creates a protobuf body.
    pub fn protobuf(body: impl Into<Box<[u8]>>) -> Self {
        Self { encoding: Encoding::Protobuf, body: body.into() }
    }
}

/// Prints JSON as text, and protobuf as its length.
impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.encoding {
            Encoding::Json => write!(f, "Json({})", String::from_utf8_lossy(&self.body)),
            Encoding::Protobuf => write!(f, "Protobuf({} bytes)", self.body.len()),
        }
    }
}

/// An undecoded object with its parsed metadata, as it travels from the server to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Key, version, labels and other metadata that is available without decoding.
    pub metadata: ObjectMeta,
    /// The bytes to decode.
    pub encoded: Encoded,
}
