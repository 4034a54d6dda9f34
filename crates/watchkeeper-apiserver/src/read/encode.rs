//! Encoder: objects as a client likes them.
//!
//! From: [`Reader`](super::Reader), and what a write came to.
//! To:   a [`Response`], or the frames of a watch.
//!
//! - E1: JSON is spliced from stored bytes; nothing is parsed unless the client asked for a table, for
//!   YAML, or for a view with other names.

use std::borrow::Cow;
use std::sync::Arc;

use crate::convert::metadata_alone;
use crate::http::{Accepted, MediaType, MetaVersion, Response, Shape};
use crate::print::{IncludeObject, Printer, TableVersion};
use crate::registry::{Registry, Resource, Subresource};
use crate::store::Stored;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use watchkeeper_core::{Encoded, Encoding, Status, Timestamp};
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{Kind, protobuf};

use super::indent::indent;
use super::{Messages, View};

/// Writes the objects of one resource in one form.
#[derive(Debug, Clone)]
pub struct Encoder {
    pub(super) resource: Arc<Resource>,
    pub(super) kind: Kind,
    pub(super) view: View,
    pub(super) accepted: Accepted,
    pub(super) include: IncludeObject,
    /// What hangs below the object, if that is what is written: it has columns of its own.
    sub: Option<Subresource>,
    pub(super) messages: Option<Arc<Messages>>,
}

impl Encoder {
    /// Writes objects of a resource as was agreed; `include` is for tables.
    pub fn new(
        registry: &Registry,
        resource: &Arc<Resource>,
        accepted: Accepted,
        include: IncludeObject,
    ) -> Self {
        Self {
            kind: resource.group_version_kind().into(),
            view: View::of(registry, resource),
            resource: resource.clone(),
            accepted,
            include,
            sub: None,
            messages: None,
        }
    }

    /// Shares the messages of listed objects with others who list.
    #[must_use]
    pub fn sharing(mut self, messages: &Arc<Messages>) -> Self {
        self.messages = Some(messages.clone());
        self
    }

    /// Writes what hangs below an object, where that is of another kind.
    #[must_use]
    pub fn below(mut self, sub: &Subresource) -> Self {
        self.sub = Some(sub.clone()).filter(|sub| sub.kind != self.resource.kind);
        self
    }

    /// One stored object.
    ///
    /// # Errors
    /// 406 where a list was asked for; 500 where what is stored cannot be written so.
    pub fn object(&self, code: StatusCode, stored: &Stored) -> Result<Response, Status> {
        if self.accepted.transform.is_none() && self.accepted.media != MediaType::Yaml {
            let body = self.bare(stored)?;
            return Ok(self.respond(code, body.into()));
        }
        self.value(code, self.view.value(stored)?, &self.kind)
    }

    /// One object that is not stored, of `kind`, in the view of its resource.
    ///
    /// # Errors
    /// As of [`object`](Self::object).
    pub fn value(&self, code: StatusCode, mut value: Value, kind: &Kind) -> Result<Response, Status> {
        match self.accepted.transform {
            None => {
                if let Value::Object(fields) = &mut value {
                    fields.insert("apiVersion".to_owned(), kind.api_version().into());
                    fields.insert("kind".to_owned(), kind.kind().into());
                }
                Response::object(code, self.accepted, &value, kind)
            }
            Some((Shape::PartialObjectMetadataList, _)) => {
                let message =
                    "you requested PartialObjectMetadataList, but the requested object is not a list";
                Err(self.wrong_shape(message, ""))
            }
            Some((Shape::PartialObjectMetadata, version)) => match self.accepted.media {
                MediaType::Protobuf => Ok(self.respond(code, self.partial_message(&value, version)?)),
                _ => Response::object(code, self.accepted, &self.partial(&value, version), kind),
            },
            Some((Shape::Table, version)) => {
                let table = self.printer(version).object(&value);
                self.serialized(code, &table)
            }
        }
    }

    /// An object with its type: JSON without an end of line, or protobuf in an envelope.
    pub(super) fn bare(&self, stored: &Stored) -> Result<Bytes, Status> {
        let object = stored.object();
        let encoding = match self.accepted.media {
            MediaType::Protobuf => Encoding::Protobuf,
            _ => Encoding::Json,
        };
        match self.view.is_verbatim() {
            true => self.typed(&object.encoded, encoding),
            false => {
                let value = self.view.value(stored)?;
                let body = serde_json::to_vec(&value).map_err(Status::internal_error)?;
                self.typed(&Encoded::json(body), encoding)
            }
        }
    }

    pub(super) fn typed(&self, encoded: &Encoded, encoding: Encoding) -> Result<Bytes, Status> {
        match encoding {
            Encoding::Json => {
                let mut out = Vec::with_capacity(encoded.body.len() + 64);
                transcode::to_json(encoded, &self.kind, Types::Named, &mut out)
                    .map_err(|error| Status::internal_error(&error))?;
                Ok(out.into())
            }
            Encoding::Protobuf => {
                let message = transcode::to_protobuf(encoded, &self.kind)
                    .map_err(|error| Status::internal_error(&error))?;
                Ok(protobuf::wrap(self.kind.api_version(), self.kind.kind(), &message).into())
            }
        }
    }

    /// An item of a list in its protobuf message.
    pub(super) fn message(&self, stored: &Stored) -> Result<Vec<u8>, Status> {
        let encoded = &stored.object().encoded;
        let message = match self.view.is_verbatim() {
            true => transcode::to_protobuf(encoded, &self.kind),
            false => {
                let body = serde_json::to_vec(&self.view.value(stored)?).map_err(Status::internal_error)?;
                transcode::to_protobuf(&Encoded::json(body), &self.kind)
            }
        };
        message.map_err(|error| Status::internal_error(&error))
    }

    /// The metadata of an object, as an object of its own.
    pub(super) fn partial(&self, value: &Value, version: MetaVersion) -> Value {
        let metadata = self.metadata(value);
        json!({"kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": metadata})
    }

    /// The metadata of an object as a message.
    pub(super) fn partial_bare(&self, value: &Value) -> Result<Vec<u8>, Status> {
        let body = json!({"metadata": self.metadata(value)}).to_string().into_bytes();
        let kind = Kind::new("meta.k8s.io", "v1", "PartialObjectMetadata");
        transcode::to_protobuf(&Encoded::json(body), &kind).map_err(|error| Status::internal_error(&error))
    }

    /// The metadata of an object as a message in its envelope.
    pub(super) fn partial_message(&self, value: &Value, version: MetaVersion) -> Result<Vec<u8>, Status> {
        Ok(protobuf::wrap(version.api_version(), "PartialObjectMetadata", &self.partial_bare(value)?))
    }

    fn metadata<'a>(&self, value: &'a Value) -> Cow<'a, Value> {
        metadata_alone(&self.resource.group, self.kind.kind(), &value["metadata"])
    }

    pub(super) fn printer(&self, version: MetaVersion) -> Printer<'_> {
        self.printer_at(version, Timestamp::now())
    }

    /// Prints ages as of `now`.
    pub(super) fn printer_at(&self, version: MetaVersion, now: Timestamp) -> Printer<'_> {
        let version = match version {
            MetaVersion::V1 => TableVersion::V1,
            MetaVersion::V1Beta1 => TableVersion::V1Beta1,
        };
        let printer = Printer::new(&self.resource, now).include(self.include).version(version);
        match &self.sub {
            Some(sub) => printer.subresource(&self.resource, sub),
            None => printer,
        }
    }

    /// 406: the shape does not fit the endpoint. The real server names a type of its own.
    pub(super) fn wrong_shape(&self, message: &str, suffix: &str) -> Status {
        let package = match self.resource.group.split('.').next() {
            Some("" | "events") | None => "core",
            Some(package) => package,
        };
        let message = format!("{message} (*{package}.{}{suffix})", self.resource.kind);
        Status { message, ..Status::not_acceptable(&[]) }
    }

    /// Something that is JSON or YAML, in the order of its fields.
    pub(super) fn serialized(
        &self,
        code: StatusCode,
        content: &impl serde::Serialize,
    ) -> Result<Response, Status> {
        if self.accepted.media == MediaType::Yaml {
            let value = serde_json::to_value(content).map_err(Status::internal_error)?;
            return Response::object(code, self.accepted, &value, &self.kind);
        }
        let body = serde_json::to_vec(content).map_err(Status::internal_error)?;
        Ok(self.respond(code, body))
    }

    /// Encoded bytes as a response: JSON gets its line end or its indentation.
    pub(super) fn respond(&self, code: StatusCode, mut body: Vec<u8>) -> Response {
        match (self.accepted.media, self.accepted.pretty) {
            (MediaType::Json, true) => body = indent(&body),
            (MediaType::Json, false) => body.push(b'\n'),
            _ => {}
        }
        Response::encoded(code, self.accepted.media, body)
    }
}
