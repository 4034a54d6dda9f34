//! Reading objects out of their bytes.

use std::sync::Arc;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use watchkeeper_core::{Bookmark, BoxError, Encoded, Encoding, HeadBuilder, Object, Status};
use watchkeeper_wire::protobuf::{self, Cut};
use watchkeeper_wire::{Annotations, Intake, Kind, Limits, decode, json, read_head, schema};

use crate::rest::MediaType;

/// What makes objects of bytes.
pub(crate) trait Read {
    /// What becomes of an object.
    type Object;

    /// How long and how deep one may be.
    fn limits(&self) -> Limits;

    /// Prepares for the encoding that an answer has.
    fn prepare(&mut self, headers: &HeaderMap) -> Result<Encoding, BoxError>;

    /// Reads one object.
    fn object(&mut self, encoding: Encoding, bytes: &[u8]) -> Result<Self::Object, BoxError>;
}

/// Reads heads, and bodies without what the intake cuts out.
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
}

impl Read for Reading {
    type Object = Object;

    fn limits(&self) -> Limits {
        self.intake.limits
    }

    fn prepare(&mut self, headers: &HeaderMap) -> Result<Encoding, BoxError> {
        let encoding = encoding_of(headers)?;
        if encoding == Encoding::Protobuf {
            let message = self.kind.message();
            let message = message.ok_or_else(|| format!("{} has no protobuf", self.kind.kind()))?;
            self.cut = Cut::compile(schema::builtin(), message, &self.intake.cut)?;
        }
        Ok(encoding)
    }

    fn object(&mut self, encoding: Encoding, bytes: &[u8]) -> Result<Object, BoxError> {
        Ok(match encoding {
            Encoding::Json => json::read_object(bytes, &self.intake, &mut self.head)?,
            Encoding::Protobuf => {
                protobuf::read_object(bytes, self.intake.annotations, &self.cut, &mut self.head)?
            }
        })
    }
}

/// The encoding that an answer has.
pub(crate) fn encoding_of(headers: &HeaderMap) -> Result<Encoding, BoxError> {
    match MediaType::of(headers.get(CONTENT_TYPE)) {
        Some(MediaType::Json) => Ok(Encoding::Json),
        Some(MediaType::Protobuf) => Ok(Encoding::Protobuf),
        None => Err(format!("its media type is {:?}", headers.get(CONTENT_TYPE)).into()),
    }
}

/// The bookmark that a BOOKMARK event carries.
pub(super) fn bookmark(encoding: Encoding, bytes: &[u8]) -> Result<Bookmark, BoxError> {
    let head = read_head(encoding, bytes, Annotations::Keep, &mut HeadBuilder::default())?;
    Ok(Bookmark::from(&head))
}

/// The status that an ERROR event carries.
pub(super) fn status(encoding: Encoding, bytes: &[u8]) -> Result<Status, BoxError> {
    match encoding {
        Encoding::Json => Ok(serde_json::from_slice(bytes)?),
        Encoding::Protobuf => Ok(decode(&Encoded::protobuf(bytes.to_vec()), &Kind::new("", "v1", "Status"))?),
    }
}
