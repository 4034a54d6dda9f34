//! List bodies: a [`Page`] as a client likes it.

use crate::http::{MediaType, MetaVersion, Response, Shape};
use crate::print::ListMeta;
use http::StatusCode;
use serde_json::{Value, json};
use watchkeeper_core::Status;
use watchkeeper_wire::protobuf;
use watchkeeper_wire::transcode::{self, Types};

use super::encode::{partial, partial_bare};
use super::{Encoder, Page};

impl Encoder {
    /// A page of a list.
    ///
    /// # Errors
    /// 406 where one object was asked for; 500 where what is stored cannot be written so.
    pub fn page(&self, code: StatusCode, page: &Page) -> Result<Response, Status> {
        match (self.accepted.transform, self.accepted.media) {
            (None, MediaType::Json) => Ok(self.respond(code, self.json_list(page)?)),
            (None, MediaType::Yaml) => {
                let list = json!({"kind": format!("{}List", self.kind.kind()),
                    "apiVersion": self.kind.api_version(), "metadata": metadata(page),
                    "items": self.values(page)?});
                self.serialized(code, &list)
            }
            (None, MediaType::Protobuf) => {
                let mut list = ListMessage::new(page);
                for stored in &page.items {
                    list.item(&self.message(stored)?);
                }
                Ok(self
                    .respond(code, list.wrap(self.kind.api_version(), &format!("{}List", self.kind.kind()))))
            }
            (Some((Shape::PartialObjectMetadata, _)), _) => {
                let message = "you requested PartialObjectMetadata, but the requested object is a list";
                Err(self.wrong_shape(message, "List"))
            }
            (Some((Shape::PartialObjectMetadataList, version)), media) => {
                self.partial_list(code, page, version, media)
            }
            (Some((Shape::Table, version)), _) => {
                let values = self.values(page)?;
                let table = self.printer(version).list(&values, metadata(page));
                self.serialized(code, &table)
            }
        }
    }

    /// E1: the bytes of the items as they are stored, between the rest of a list.
    fn json_list(&self, page: &Page) -> Result<Vec<u8>, Status> {
        let bytes: usize = page.items.iter().map(|stored| stored.object().encoded.body.len() + 1).sum();
        let mut out = Vec::with_capacity(bytes + 256);
        let metadata = serde_json::to_string(&metadata(page)).map_err(Status::internal_error)?;
        let (kind, api_version) = (self.kind.kind(), self.kind.api_version());
        let head =
            format!(r#"{{"kind":"{kind}List","apiVersion":"{api_version}","metadata":{metadata},"items":["#);
        out.extend_from_slice(head.as_bytes());
        for (position, stored) in page.items.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            match self.view.is_verbatim() {
                true => transcode::to_json(&stored.object().encoded, &self.kind, Types::Omitted, &mut out)
                    .map_err(|error| Status::internal_error(&error))?,
                false => serde_json::to_writer(&mut out, &self.view.value(stored)?)
                    .map_err(Status::internal_error)?,
            }
        }
        out.extend_from_slice(b"]}");
        Ok(out)
    }

    fn partial_list(
        &self,
        code: StatusCode,
        page: &Page,
        version: MetaVersion,
        media: MediaType,
    ) -> Result<Response, Status> {
        const KIND: &str = "PartialObjectMetadataList";
        let values = self.values(page)?;
        if media == MediaType::Protobuf {
            let mut list = ListMessage::new(page);
            for value in &values {
                list.item(&partial_bare(value)?);
            }
            return Ok(self.respond(code, list.wrap(version.api_version(), KIND)));
        }
        let items: Vec<Value> = values.into_iter().map(|value| partial(value, version)).collect();
        // Of nothing, the real server makes no list.
        let items = if items.is_empty() { Value::Null } else { items.into() };
        let list = json!({"kind": KIND, "apiVersion": version.api_version(), "metadata": metadata(page),
            "items": items});
        self.serialized(code, &list)
    }

    fn values(&self, page: &Page) -> Result<Vec<Value>, Status> {
        page.items.iter().map(|stored| self.view.value(stored)).collect()
    }
}

fn metadata(page: &Page) -> ListMeta {
    ListMeta {
        resource_version: page.revision.to_string(),
        continue_token: page.continue_token.clone().unwrap_or_default(),
        remaining_item_count: page.remaining.and_then(|left| i64::try_from(left).ok()),
    }
}

/// The message of a list while it is written: metadata is field 1, items are field 2.
struct ListMessage(Vec<u8>);

impl ListMessage {
    fn new(page: &Page) -> Self {
        let ListMeta { resource_version, continue_token, remaining_item_count } = metadata(page);
        let mut meta = Vec::new();
        put_bytes(&mut meta, 1, b""); // selfLink, which is always empty and always there
        put_bytes(&mut meta, 2, resource_version.as_bytes());
        put_bytes(&mut meta, 3, continue_token.as_bytes());
        if let Some(left) = remaining_item_count.and_then(|left| u64::try_from(left).ok()) {
            meta.push(4 << 3);
            put_varint(&mut meta, left);
        }
        let mut list = Vec::new();
        put_bytes(&mut list, 1, &meta);
        Self(list)
    }

    fn item(&mut self, message: &[u8]) {
        put_bytes(&mut self.0, 2, message);
    }

    fn wrap(&self, api_version: &str, kind: &str) -> Vec<u8> {
        protobuf::wrap(api_version, kind, &self.0)
    }
}

/// A field of bytes whose number is below 16.
pub(super) fn put_bytes(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A number of seven bits a byte, the lowest first.
fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
