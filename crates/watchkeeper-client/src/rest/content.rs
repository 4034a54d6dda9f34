//! Content: in which encoding objects travel.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::HeaderValue;
use watchkeeper_core::{Encoded, GroupVersion};
use watchkeeper_wire::json::read_type;
use watchkeeper_wire::protobuf::wrap;
use watchkeeper_wire::{Kind, transcode};

/// An encoding of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    /// `application/json`.
    Json,
    /// `application/vnd.kubernetes.protobuf`: only for kinds that are built in.
    Protobuf,
}

impl MediaType {
    /// The word for it in headers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// What a `Content-Type` says, without its parameters; JSON where it says nothing.
    pub(crate) fn of(header: Option<&HeaderValue>) -> Option<Self> {
        let Some(header) = header else { return Some(Self::Json) };
        match header.to_str().ok()?.split(';').next()?.trim() {
            "application/json" => Some(Self::Json),
            "application/vnd.kubernetes.protobuf" => Some(Self::Protobuf),
            _ => None,
        }
    }
}

/// How much of an object is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// All of it.
    #[default]
    Whole,
    /// Its metadata, as a `PartialObjectMetadata`.
    Metadata,
    /// The metadata of each object of a list, as a `PartialObjectMetadataList`.
    MetadataList,
}

/// In which encoding objects are asked for and sent.
///
/// A server that does not know the preferred one (406, 415) is asked in JSON from then on.
#[derive(Debug)]
pub struct Content {
    preferred: MediaType,
    refused: AtomicBool,
}

impl Content {
    /// JSON: for every kind.
    pub fn json() -> Self {
        Self { preferred: MediaType::Json, refused: AtomicBool::new(false) }
    }

    /// Protobuf: for kinds that are built in. It is smaller and cheaper to read.
    pub fn protobuf() -> Self {
        Self { preferred: MediaType::Protobuf, refused: AtomicBool::new(false) }
    }

    /// Protobuf if the kind has a protobuf form, JSON otherwise.
    pub fn of(kind: &Kind) -> Self {
        match kind.message() {
            Some(_) => Self::protobuf(),
            None => Self::json(),
        }
    }

    /// The encoding to use now.
    pub fn current(&self) -> MediaType {
        match self.refused.load(Ordering::Relaxed) {
            true => MediaType::Json,
            false => self.preferred,
        }
    }

    /// The server does not know the encoding. Whether there is another to try.
    pub(crate) fn refuse(&self) -> bool {
        self.preferred != MediaType::Json && !self.refused.swap(true, Ordering::Relaxed)
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

/// An object in protobuf where its kind is built in and the client speaks it; in JSON otherwise.
pub(super) fn encoded(json: &Bytes, media_type: MediaType) -> (Bytes, MediaType) {
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
