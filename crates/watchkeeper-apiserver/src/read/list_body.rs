//! List bodies: a [`Page`] as a client likes it.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread;

use crate::http::go_order::GoOrder;
use crate::http::{MediaType, MetaVersion, Response, Shape};
use crate::print::ListMeta;
use crate::store::Stored;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use watchkeeper_core::{GroupVersionKind, Status};
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{Kind, protobuf};

use super::{Encoder, Page, View};

/// How many objects are transcoded on more than one processor: below, threads cost more than they save.
const MANY: usize = 500;

impl Encoder {
    /// A page of a list.
    ///
    /// # Errors
    /// 406 where one object was asked for; 500 where what is stored cannot be written so.
    pub fn page(&self, code: StatusCode, page: &Page) -> Result<Response, Status> {
        match (self.accepted.transform, self.accepted.media) {
            (None, MediaType::Json) => Ok(self.respond(code, self.json_list(page)?)),
            (None, MediaType::Yaml) => {
                let list = json!({"kind": self.list_kind(),
                    "apiVersion": self.kind.api_version(), "metadata": self.list_metadata(page)?,
                    "items": self.typed_values(page)?});
                self.serialized(code, &list)
            }
            (None, MediaType::Protobuf) => {
                let kind = self.list_kind();
                let list = message_list(page, &self.item_messages(page)?, self.kind.api_version(), &kind);
                Ok(self.respond(code, list))
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

    /// A list of objects that are not stored and have no version.
    ///
    /// # Errors
    /// As of [`page`](Self::page).
    pub fn unstored_list(&self, code: StatusCode, items: Vec<Value>) -> Result<Response, Status> {
        let kind = self.list_kind().into_owned();
        match self.accepted.transform {
            None => {
                let list = json!({"kind": kind, "apiVersion": self.kind.api_version(), "metadata": {},
                    "items": items});
                let GroupVersionKind { group, version, .. } = self.kind.name();
                let kind = Kind::new(group, version, &kind);
                Response::object(code, self.accepted, &list, &kind)
            }
            Some((Shape::PartialObjectMetadata, _)) => {
                let message = "you requested PartialObjectMetadata, but the requested object is a list";
                Err(self.wrong_shape(message, "List"))
            }
            Some((Shape::PartialObjectMetadataList, version)) => {
                let items: Vec<Value> = items.iter().map(|value| self.partial(value, version)).collect();
                let kind = Kind::new("meta.k8s.io", "v1", "PartialObjectMetadataList");
                let list = json!({"kind": kind.kind(), "apiVersion": version.api_version(), "metadata": {},
                    "items": items});
                Response::object(code, self.accepted, &list, &kind)
            }
            Some((Shape::Table, version)) => {
                let table = self.printer(version).list(&items, ListMeta::default());
                self.serialized(code, &table)
            }
        }
    }

    /// E1: the bytes of the items as they are stored, between the rest of a list.
    fn json_list(&self, page: &Page) -> Result<Vec<u8>, Status> {
        let bytes: usize = page.items.iter().map(|stored| stored.object().encoded.body.len() + 1).sum();
        let mut out = Vec::with_capacity(bytes + 256);
        let metadata = self.list_metadata(page)?.to_string();
        let (kind, api_version) = (self.list_kind(), self.kind.api_version());
        // Go writes the fields of a type in the order of the type, and those of a custom resource sorted.
        let (head, tail) = match self.resource.custom.is_some() {
            true => (
                format!(r#"{{"apiVersion":"{api_version}","items":["#),
                format!(r#"],"kind":"{kind}","metadata":{metadata}}}"#),
            ),
            false => (
                format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{metadata},"items":["#),
                "]}".to_owned(),
            ),
        };
        out.extend_from_slice(head.as_bytes());
        for (position, stored) in page.items.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            if self.resource.custom.is_some() {
                out.extend_from_slice(&self.bare(stored)?); // items of custom kinds say their type
                continue;
            }
            match self.view.is_verbatim() {
                true => transcode::to_json(&stored.object().encoded, &self.kind, Types::Omitted, &mut out)
                    .map_err(|error| Status::internal_error(&error))?,
                false => serde_json::to_writer(&mut out, &self.view.value(stored)?)
                    .map_err(Status::internal_error)?,
            }
        }
        out.extend_from_slice(tail.as_bytes());
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
            let items: Result<Vec<_>, Status> = values.iter().map(|value| self.partial_bare(value)).collect();
            return Ok(self.respond(code, message_list(page, &items?, version.api_version(), KIND)));
        }
        let items: Vec<Value> = values.iter().map(|value| self.partial(value, version)).collect();
        // Of nothing, the real server makes no list.
        let items = if items.is_empty() { Value::Null } else { items.into() };
        let list = json!({"kind": KIND, "apiVersion": version.api_version(), "metadata": metadata(page),
            "items": items});
        self.serialized(code, &GoOrder(&list))
    }

    /// The messages of the items: those that are kept, and those that were not until now.
    fn item_messages(&self, page: &Page) -> Result<Vec<Bytes>, Status> {
        let kept = self.messages.as_ref().filter(|_| self.view == View::Own);
        let revisions = page.items.iter().map(|stored| stored.modified());
        let mut found = kept.map_or_else(|| vec![None; page.items.len()], |kept| kept.find(revisions));
        let missing: Vec<&Arc<Stored>> =
            page.items.iter().zip(&found).filter(|(_, it)| it.is_none()).map(|(stored, _)| stored).collect();
        let new = self.new_messages(&missing)?;
        for (slot, message) in found.iter_mut().filter(|it| it.is_none()).zip(&new) {
            *slot = Some(message.clone());
        }
        let new = missing.iter().map(|stored| stored.modified()).zip(new).collect();
        if let Some(kept) = kept {
            kept.keep(new);
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// Transcodes objects, many of them on all processors at once.
    fn new_messages(&self, objects: &[&Arc<Stored>]) -> Result<Vec<Bytes>, Status> {
        // No longer than they are, for they may be kept.
        let encode = |stored: &&Arc<Stored>| Ok(Bytes::from(self.message(stored)?.into_boxed_slice()));
        let processors = thread::available_parallelism().map_or(1, Into::into);
        if objects.len() < MANY || processors == 1 {
            return objects.iter().map(encode).collect();
        }
        let encode_all = |part: &[&Arc<Stored>]| part.iter().map(encode).collect::<Result<Vec<_>, Status>>();
        let (first, rest) = objects.split_at(objects.len() / processors);
        thread::scope(|scope| {
            let parts = rest.chunks(rest.len().div_ceil(processors - 1));
            let threads: Vec<_> = parts.map(|part| scope.spawn(move || encode_all(part))).collect();
            let mut messages = encode_all(first)?;
            for thread in threads {
                messages.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok(messages)
        })
    }

    /// A list of custom objects says even that it does not go on.
    fn list_metadata(&self, page: &Page) -> Result<Value, Status> {
        let mut metadata = serde_json::to_value(metadata(page)).map_err(Status::internal_error)?;
        if self.resource.custom.is_some() && metadata["continue"].is_null() {
            metadata["continue"] = "".into();
        }
        Ok(metadata)
    }

    /// The items, with their type if they are of a custom kind.
    fn typed_values(&self, page: &Page) -> Result<Vec<Value>, Status> {
        let mut values = self.values(page)?;
        if self.resource.custom.is_some() {
            for value in &mut values {
                value["apiVersion"] = self.kind.api_version().into();
                value["kind"] = self.kind.kind().into();
            }
        }
        Ok(values)
    }

    /// `PodList`: only a definition can say otherwise.
    fn list_kind(&self) -> Cow<'_, str> {
        match &self.resource.custom {
            Some(custom) => Cow::Borrowed(custom.list_kind()),
            None => Cow::Owned(format!("{}List", self.kind.kind())),
        }
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

/// A list in its envelope: metadata is field 1, items are field 2.
fn message_list(page: &Page, items: &[impl AsRef<[u8]>], api_version: &str, kind: &str) -> Vec<u8> {
    let ListMeta { resource_version, continue_token, remaining_item_count } = metadata(page);
    let mut meta = Vec::new();
    put_bytes(&mut meta, 1, b""); // selfLink, which is always empty and always there
    put_bytes(&mut meta, 2, resource_version.as_bytes());
    put_bytes(&mut meta, 3, continue_token.as_bytes());
    if let Some(left) = remaining_item_count.and_then(|left| u64::try_from(left).ok()) {
        meta.push(4 << 3);
        put_varint(&mut meta, left);
    }
    let length = items.iter().map(|item| field_bytes(item.as_ref())).sum::<usize>() + field_bytes(&meta);
    protobuf::wrap_written(api_version, kind, length, |out| {
        put_bytes(out, 1, &meta);
        items.iter().for_each(|item| put_bytes(out, 2, item.as_ref()));
    })
}

/// How long [`put_bytes`] makes a field.
fn field_bytes(bytes: &[u8]) -> usize {
    let bits = usize::BITS - bytes.len().leading_zeros();
    1 + bits.div_ceil(7).max(1) as usize + bytes.len()
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
