//! Content negotiation: the encoding of objects.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::HeaderValue;
use watchkeeper_core::{Encoded, GroupVersion};
use watchkeeper_wire::json::read_type;
use watchkeeper_wire::protobuf::wrap;
use watchkeeper_wire::{Kind, transcode};

/// A media type of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    /// `application/json`.
    Json,
    /// `application/vnd.kubernetes.protobuf`, for built-in kinds only.
    Protobuf,
}

impl MediaType {
    /// Returns the media type as in headers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// Parses a `Content-Type`, ignoring parameters; JSON if there is none.
    pub(crate) fn of(header: Option<&HeaderValue>) -> Option<Self> {
        let Some(header) = header else { return Some(Self::Json) };
        match header.to_str().ok()?.split(';').next()?.trim() {
            "application/json" => Some(Self::Json),
            "application/vnd.kubernetes.protobuf" => Some(Self::Protobuf),
            _ => None,
        }
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
    preferred: MediaType,
    fell_back: AtomicBool,
}

impl Content {
    /// JSON, for every kind.
    pub fn json() -> Self {
        Self { preferred: MediaType::Json, fell_back: AtomicBool::new(false) }
    }

    /// Protobuf, for built-in kinds: smaller and cheaper to decode.
    pub fn protobuf() -> Self {
        Self { preferred: MediaType::Protobuf, fell_back: AtomicBool::new(false) }
    }

    /// Protobuf if the kind has a protobuf encoding, JSON otherwise.
    pub fn for_kind(kind: &Kind) -> Self {
        match kind.message() {
            Some(_) => Self::protobuf(),
            None => Self::json(),
        }
    }

    /// Returns the encoding in use.
    pub fn current(&self) -> MediaType {
        if self.fell_back.load(Ordering::Relaxed) { MediaType::Json } else { self.preferred }
    }

    /// Falls back to JSON; returns whether that changed anything.
    pub(crate) fn fall_back(&self) -> bool {
        self.preferred != MediaType::Json && !self.fell_back.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn accept(&self, shape: Shape) -> &'static str {
        match (self.current(), shape) {
            (MediaType::Json, Shape::Whole) => "application/json",
            (MediaType::Protobuf, Shape::Whole) => "application/vnd.kubernetes.protobuf,application/json",
            (MediaType::Json, Shape::Metadata) => {
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
            }
            (MediaType::Json, Shape::MetadataList) => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            }
            (MediaType::Protobuf, Shape::Metadata) => {
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                 application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
            }
            (MediaType::Protobuf, Shape::MetadataList) => {
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
                 application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            }
        }
    }
}

/// Encodes an object in protobuf if its kind is built in and the client uses protobuf; in JSON otherwise.
pub(super) fn encode(json: &Bytes, media_type: MediaType) -> (Bytes, MediaType) {
    let in_protobuf = || {
        let (api_version, kind) = read_type(json).ok()?;
        let version: GroupVersion = api_version.parse().ok()?;
        let known = Kind::new(&version.group, &version.version, &kind);
        known.message()?;
        let message = transcode::to_protobuf(&Encoded::json(json.to_vec()), &known).ok()?;
        Some(Bytes::from(wrap(&api_version, &kind, &message)))
    };
    match media_type {
        MediaType::Protobuf => match in_protobuf() {
            Some(bytes) => (bytes, MediaType::Protobuf),
            None => (json.clone(), MediaType::Json),
        },
        MediaType::Json => (json.clone(), MediaType::Json),
    }
}
