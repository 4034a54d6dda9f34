//! Reading objects out of their bytes.

use std::sync::Arc;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use watchkeeper_core::{BoxError, Encoded, Encoding, Head, HeadBuilder, Object, Status};
use watchkeeper_wire::protobuf::{self, Cut};
use watchkeeper_wire::{Annotations, Intake, Kind, Limits, decode, json, read_head, schema};

use crate::rest::MediaType;

/// How the objects of one answer are read.
pub(super) struct Reading {
    kind: Kind,
    intake: Arc<Intake>,
    head: HeadBuilder,
    /// For protobuf: what is cut out, by field numbers.
    cut: Cut,
}

impl Reading {
    pub(super) fn new(kind: Kind, intake: Arc<Intake>) -> Self {
        Self { kind, intake, head: HeadBuilder::default(), cut: Cut::default() }
    }

    pub(super) fn limits(&self) -> Limits {
        self.intake.limits
    }

    /// Prepares for the encoding that an answer has.
    pub(super) fn prepare(&mut self, headers: &HeaderMap) -> Result<Encoding, BoxError> {
        match MediaType::of(headers.get(CONTENT_TYPE)) {
            Some(MediaType::Json) => Ok(Encoding::Json),
            Some(MediaType::Protobuf) => {
                let message = self.kind.message();
                let message = message.ok_or_else(|| format!("{} has no protobuf", self.kind.kind()))?;
                self.cut = Cut::compile(schema::builtin(), message, &self.intake.cut)?;
                Ok(Encoding::Protobuf)
            }
            None => Err(format!("its media type is {:?}", headers.get(CONTENT_TYPE)).into()),
        }
    }

    pub(super) fn object(&mut self, encoding: Encoding, bytes: &[u8]) -> Result<Object, BoxError> {
        Ok(match encoding {
            Encoding::Json => json::read_object(bytes, &self.intake, &mut self.head)?,
            Encoding::Protobuf => {
                protobuf::read_object(bytes, self.intake.annotations, &self.cut, &mut self.head)?
            }
        })
    }

    pub(super) fn bookmark(&mut self, encoding: Encoding, bytes: &[u8]) -> Result<Head, BoxError> {
        Ok(read_head(encoding, bytes, Annotations::Keep, &mut self.head)?)
    }
}

/// The status that an ERROR event carries.
pub(super) fn status(encoding: Encoding, bytes: &[u8]) -> Result<Status, BoxError> {
    match encoding {
        Encoding::Json => Ok(serde_json::from_slice(bytes)?),
        Encoding::Protobuf => Ok(decode(&Encoded::protobuf(bytes.to_vec()), &Kind::new("", "v1", "Status"))?),
    }
}
