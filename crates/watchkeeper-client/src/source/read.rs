//! Decodes objects.

use std::sync::Arc;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use watchkeeper_core::{Bookmark, BoxError, Encoded, Encoding, Object, ObjectMetaBuilder, Status};
use watchkeeper_wire::protobuf::{self, Cut};
use watchkeeper_wire::{Annotations, Kind, Limits, ReadOptions, decode, json, read_object_meta, schema};

use crate::rest;

/// A decoder of the objects of a list or watch.
pub(crate) trait Read {
    /// The decoded type.
    type Object;

    /// Returns the limits on size and depth of an object.
    fn limits(&self) -> Limits;

    /// Prepares for the encoding of a response.
    fn prepare(&mut self, headers: &HeaderMap) -> Result<Encoding, BoxError>;

    /// Decodes one object.
    fn object(&mut self, encoding: Encoding, bytes: &[u8]) -> Result<Self::Object, BoxError>;
}

/// A decoder of metadata, and of bodies without the fields that the [`ReadOptions`] remove.
pub(super) struct Reading {
    kind: Kind,
    read_options: Arc<ReadOptions>,
    metadata: ObjectMetaBuilder,
    /// For protobuf: the removed fields, by number.
    cut: Cut,
}

impl Reading {
    pub(super) fn new(kind: Kind, read_options: Arc<ReadOptions>) -> Self {
        Self { kind, read_options, metadata: ObjectMetaBuilder::default(), cut: Cut::default() }
    }
}

impl Read for Reading {
    type Object = Object;

    fn limits(&self) -> Limits {
        self.read_options.limits
    }

    fn prepare(&mut self, headers: &HeaderMap) -> Result<Encoding, BoxError> {
        let encoding = encoding_of(headers)?;
        if encoding == Encoding::Protobuf {
            let message = self.kind.message();
            let message = message.ok_or_else(|| format!("{} has no protobuf encoding", self.kind.kind()))?;
            self.cut = Cut::compile(schema::builtin(), message, &self.read_options.cut)?;
        }
        Ok(encoding)
    }

    fn object(&mut self, encoding: Encoding, bytes: &[u8]) -> Result<Object, BoxError> {
        Ok(match encoding {
            Encoding::Json => json::read_object(bytes, &self.read_options, &mut self.metadata)?,
            Encoding::Protobuf => {
                protobuf::read_object(bytes, self.read_options.annotations, &self.cut, &mut self.metadata)?
            }
        })
    }
}

/// Returns the encoding of a response.
pub(crate) fn encoding_of(headers: &HeaderMap) -> Result<Encoding, BoxError> {
    let header = headers.get(CONTENT_TYPE);
    rest::encoding_of(header).ok_or_else(|| format!("unsupported media type {header:?}").into())
}

/// Decodes the object of a BOOKMARK event.
pub(super) fn bookmark(encoding: Encoding, bytes: &[u8]) -> Result<Bookmark, BoxError> {
    let metadata = read_object_meta(encoding, bytes, Annotations::Keep, &mut ObjectMetaBuilder::default())?;
    Ok(Bookmark::from(&metadata))
}

/// Decodes the object of an ERROR event.
pub(super) fn status(encoding: Encoding, bytes: &[u8]) -> Result<Status, BoxError> {
    match encoding {
        Encoding::Json => Ok(serde_json::from_slice(bytes)?),
        Encoding::Protobuf => Ok(decode(&Encoded::protobuf(bytes.to_vec()), &Kind::new("", "v1", "Status"))?),
    }
}
