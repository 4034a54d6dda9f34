//! Content negotiation: the encoding of objects.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::HeaderValue;
use watchkeeper_core::{Encoded, Encoding, GroupVersion};
use watchkeeper_wire::json::read_type;
use watchkeeper_wire::protobuf::wrap;
use watchkeeper_wire::{Kind, transcode};

/// Returns the encoding of a `Content-Type` header; JSON if there is none.
pub(crate) fn encoding_of(header: Option<&HeaderValue>) -> Option<Encoding> {
    match header {
        Some(header) => Encoding::from_content_type(header.to_str().ok()?),
        None => Some(Encoding::Json),
    }
}

/// The part of an object to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// The whole object.
    #[default]
    Whole,
    /// The metadata, as a `PartialObjectMetadata`.
    Metadata,
    /// The metadata of each object of a list, as a `PartialObjectMetadataList`.
    MetadataList,
}

/// The encoding to request and send objects in.
///
/// Falls back to JSON for good when the server does not support the preferred encoding (406, 415).
#[derive(Debug)]
pub struct Content {
    preferred: Encoding,
    fell_back: AtomicBool,
}

impl Content {
    /// Creates JSON content, which suits every kind.
    pub fn json() -> Self {
        Self { preferred: Encoding::Json, fell_back: AtomicBool::new(false) }
    }

    /// Creates protobuf content, for built-in kinds: smaller and cheaper to decode.
    pub fn protobuf() -> Self {
        Self { preferred: Encoding::Protobuf, fell_back: AtomicBool::new(false) }
    }

    /// Creates protobuf content if the kind has a protobuf encoding, and JSON content otherwise.
    pub fn for_kind(kind: &Kind) -> Self {
        match kind.message() {
            Some(_) => Self::protobuf(),
            None => Self::json(),
        }
    }

    /// Returns the encoding in use.
    pub fn current(&self) -> Encoding {
        if self.fell_back.load(Ordering::Relaxed) { Encoding::Json } else { self.preferred }
    }

    /// Falls back to JSON; returns whether that changed anything.
    pub(crate) fn fall_back(&self) -> bool {
        self.preferred != Encoding::Json && !self.fell_back.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn accept(&self, shape: Shape) -> &'static str {
        match (self.current(), shape) {
            (Encoding::Json, Shape::Whole) => "application/json",
            (Encoding::Protobuf, Shape::Whole) => "application/vnd.kubernetes.protobuf,application/json",
            (Encoding::Json, Shape::Metadata) => {
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
            }
            (Encoding::Json, Shape::MetadataList) => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            }
            (Encoding::Protobuf, Shape::Metadata) => {
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                 application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
            }
            (Encoding::Protobuf, Shape::MetadataList) => {
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
                 application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            }
        }
    }
}

/// Encodes an object in protobuf if its kind is built in and the client uses protobuf; in JSON otherwise.
pub(super) fn encode(json: &Bytes, encoding: Encoding) -> (Bytes, Encoding) {
    let in_protobuf = || {
        let (api_version, kind) = read_type(json).ok()?;
        let version: GroupVersion = api_version.parse().ok()?;
        let known = Kind::new(&version.group, &version.version, &kind);
        known.message()?;
        let message = transcode::to_protobuf(&Encoded::json(json.to_vec()), &known).ok()?;
        Some(Bytes::from(wrap(&api_version, &kind, &message)))
    };
    match encoding {
        Encoding::Protobuf => match in_protobuf() {
            Some(bytes) => (bytes, Encoding::Protobuf),
            None => (json.clone(), Encoding::Json),
        },
        Encoding::Json => (json.clone(), Encoding::Json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_in_use_is_preferred() {
        for content in [Content::json(), Content::protobuf()] {
            for shape in [Shape::Whole, Shape::Metadata, Shape::MetadataList] {
                let preferred = content.accept(shape).split([',', ';']).next();
                assert_eq!(preferred, Some(content.current().media_type()));
            }
        }
    }
}
