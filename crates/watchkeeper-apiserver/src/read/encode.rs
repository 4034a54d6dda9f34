//! Encoder: writes objects in the negotiated encoding.
//!
//! Input: [`Reader`](super::Reader), and the results of writes.
//! Output: a [`Response`], or the frames of a watch.
//!
//! Invariants:
//! - `encode.E1`: JSON is spliced from stored bytes; nothing is parsed unless the client requested a table or YAML,
//!   or the view has other field names.

use std::borrow::Cow;
use std::sync::Arc;

use crate::http::{Accepted, MediaType, MetaVersion, Response, Shape};
use crate::print::{IncludeObject, Printer, TableVersion};
use crate::registry::{Registry, Resource, Subresource};
use crate::rules::metadata_alone;
use crate::store::Stored;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use watchkeeper_core::{Encoded, Encoding, Status, Timestamp};
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{Kind, protobuf};

use super::indent::indent;
use super::{Messages, View};

/// Encodes the objects of one resource in one encoding.
#[derive(Debug, Clone)]
pub struct Encoder {
    pub(super) resource: Arc<Resource>,
    pub(super) kind: Kind,
    pub(super) view: View,
    pub(super) accepted: Accepted,
    pub(super) include: IncludeObject,
    /// The subresource, if it is written instead of the object and has its own columns.
    sub: Option<Subresource>,
    pub(super) messages: Option<Arc<Messages>>,
}

impl Encoder {
    /// Creates an encoder for a resource and a negotiated encoding; `include` is for tables.
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

    /// Shares the messages of listed objects with other lists.
    #[must_use]
    pub fn sharing(mut self, messages: &Arc<Messages>) -> Self {
        self.messages = Some(messages.clone());
        self
    }

    /// Encodes a subresource instead of the object, if it is of another kind.
    #[must_use]
    pub fn below(mut self, sub: &Subresource) -> Self {
        self.sub = Some(sub.clone()).filter(|sub| sub.kind != self.resource.kind);
        self
    }

    /// Encodes a stored object.
    ///
    /// # Errors
    /// Returns 406 if a list was requested; 500 if the stored object cannot be encoded.
    pub fn object(&self, code: StatusCode, stored: &Stored) -> Result<Response, Status> {
        if self.accepted.transform.is_none() && self.accepted.media != MediaType::Yaml {
            let body = self.bare(stored)?;
            return Ok(self.respond(code, body.into()));
        }
        self.value(code, self.view.value(stored)?, &self.kind)
    }

    /// Encodes an object of `kind` that is not stored, in the view of its resource.
    ///
    /// # Errors
    /// The same as those of [`object`](Self::object).
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
                MediaType::PROTOBUF => Ok(self.respond(code, self.partial_message(&value, version)?)),
                _ => Response::object(code, self.accepted, &self.partial(&value, version), kind),
            },
            Some((Shape::Table, version)) => {
                let table = self.printer(version).object(&value);
                self.serialized(code, &table)
            }
        }
    }

    /// Returns an object with its type: JSON without a newline, or protobuf in an envelope.
    pub(super) fn bare(&self, stored: &Stored) -> Result<Bytes, Status> {
        let object = stored.object();
        let encoding = self.accepted.media.encoding();
        if self.view.is_verbatim() {
            return self.typed(&object.encoded, encoding);
        }
        let value = self.view.value(stored)?;
        let body = serde_json::to_vec(&value).map_err(Status::internal_error)?;
        self.typed(&Encoded::json(body), encoding)
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

    /// Returns the protobuf message of a list item.
    pub(super) fn message(&self, stored: &Stored) -> Result<Vec<u8>, Status> {
        let encoded = &stored.object().encoded;
        let message = if self.view.is_verbatim() {
            transcode::to_protobuf(encoded, &self.kind)
        } else {
            let body = serde_json::to_vec(&self.view.value(stored)?).map_err(Status::internal_error)?;
            transcode::to_protobuf(&Encoded::json(body), &self.kind)
        };
        message.map_err(|error| Status::internal_error(&error))
    }

    /// Returns the metadata of an object as a `PartialObjectMetadata`.
    pub(super) fn partial(&self, value: &Value, version: MetaVersion) -> Value {
        let metadata = self.metadata(value);
        json!({"kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": metadata})
    }

    /// Returns the metadata of an object as a protobuf message.
    pub(super) fn partial_bare(&self, value: &Value) -> Result<Vec<u8>, Status> {
        let body = json!({"metadata": self.metadata(value)}).to_string().into_bytes();
        let kind = Kind::new("meta.k8s.io", "v1", "PartialObjectMetadata");
        transcode::to_protobuf(&Encoded::json(body), &kind).map_err(|error| Status::internal_error(&error))
    }

    /// Returns the metadata of an object as a protobuf message in its envelope.
    pub(super) fn partial_message(&self, value: &Value, version: MetaVersion) -> Result<Vec<u8>, Status> {
        Ok(protobuf::wrap(version.api_version(), "PartialObjectMetadata", &self.partial_bare(value)?))
    }

    fn metadata<'a>(&self, value: &'a Value) -> Cow<'a, Value> {
        metadata_alone(self.resource.rules().version_annotations(), &value["metadata"])
    }

    pub(super) fn printer(&self, version: MetaVersion) -> Printer<'_> {
        self.printer_at(version, Timestamp::now())
    }

    /// Returns a printer with ages as of `now`.
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

    /// 406: the shape does not apply to the endpoint. kube-apiserver names an internal type of its own.
    pub(super) fn wrong_shape(&self, message: &str, suffix: &str) -> Status {
        let package = match self.resource.group.split('.').next() {
            Some("" | "events") | None => "core",
            Some(package) => package,
        };
        let message = format!("{message} (*{package}.{}{suffix})", self.resource.kind);
        Status { message, ..Status::not_acceptable(&[]) }
    }

    /// Returns a response in JSON or YAML, in field order.
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

    /// Returns encoded bytes as a response, with a newline or indentation for JSON.
    pub(super) fn respond(&self, code: StatusCode, mut body: Vec<u8>) -> Response {
        match (self.accepted.media, self.accepted.pretty) {
            (MediaType::JSON, true) => body = indent(&body),
            (MediaType::JSON, false) => body.push(b'\n'),
            _ => {}
        }
        Response::encoded(code, self.accepted.media, body)
    }
}
