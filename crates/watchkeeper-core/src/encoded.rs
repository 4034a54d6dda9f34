//! Encoded objects: the bytes of an object, and those bytes together with their head.

use std::fmt;

use crate::Head;

/// How the bytes of a body are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// A JSON object without `apiVersion` and `kind`.
    Json,
    /// The protobuf message of the kind, without the `k8s\0` envelope.
    Protobuf,
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encoding::Json => "JSON",
            Encoding::Protobuf => "protobuf",
        })
    }
}

/// A body as the server sent it, less what was cut out on the way.
///
/// - E1: no envelope and no type: neither `k8s\0` nor `apiVersion` and `kind`. List items lack
///   them and watch events have them, and a stored body must not remember how it came.
/// - E2: the box is of exact size, and is never a slice of a socket buffer, so that what is kept
///   is what is counted.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Encoded {
    /// How to read `body`.
    pub encoding: Encoding,
    /// The bytes.
    pub body: Box<[u8]>,
}

impl Encoded {
    /// A body in JSON.
    pub fn json(body: impl Into<Box<[u8]>>) -> Self {
        Self { encoding: Encoding::Json, body: body.into() }
    }

    /// A body in protobuf.
    pub fn protobuf(body: impl Into<Box<[u8]>>) -> Self {
        Self { encoding: Encoding::Protobuf, body: body.into() }
    }
}

/// Shows JSON as text and protobuf as its length: bodies are long.
impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.encoding {
            Encoding::Json => write!(f, "Json({})", String::from_utf8_lossy(&self.body)),
            Encoding::Protobuf => write!(f, "Protobuf({} bytes)", self.body.len()),
        }
    }
}

/// What travels the line from the server to the store: a body, and what of it everybody needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Key, version, labels and the rest of what is read without decoding.
    pub head: Head,
    /// The bytes to decode when somebody asks for a type.
    pub encoded: Encoded,
}
