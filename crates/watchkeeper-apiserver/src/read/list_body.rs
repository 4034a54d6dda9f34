//! List bodies: a [`Page`], encoded while the client reads it.
//!
//! Input: a [`Page`], which shares its objects with the store.
//! Output: [`Response::pieces`] for a long list, [`Response::encoded`] for a short one.
//!
//! Invariants:
//! - `list_body.L1`: a long list that the client does not read holds a pointer per object and a few hundred bytes.
//! - `list_body.L2`: a list is the same bytes whether it is sent whole or in pieces of any length.

use std::borrow::Cow;
use std::sync::Arc;

use crate::http::go_order::GoOrder;
use crate::http::{GZIP_BYTES, MediaType, MetaVersion, Pieces, Response, Shape};
use crate::print::ListMeta;
use crate::store::Stored;
use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use watchkeeper_core::{GroupVersionKind, Status, Timestamp};
use watchkeeper_listen::Charge;
use watchkeeper_print::default_storage_class;
use watchkeeper_wire::{Kind, yaml};

use super::indent::Indent;
use super::list_items::MANY;
use super::message_list::{measure, message_list, put_bytes};
use super::{Encoder, Page};

/// Spare capacity for the last item of a piece, in bytes.
const ITEM_BYTES: usize = 4 << 10;

/// The encoding of list items.
enum Form {
    Object,
    Partial(MetaVersion),
    Row {
        version: MetaVersion,
        now: Timestamp,
        default_class: Option<String>,
    },
    /// The lengths of the messages, which precede them.
    Message(Vec<u32>),
    PartialMessage(Vec<u32>),
}

/// The beginning of the next piece.
#[derive(Clone, Copy)]
enum Place {
    Start,
    Item(usize),
    End,
    Past,
}

/// A list that is encoded piece by piece.
struct ListBody {
    encoder: Encoder,
    form: Form,
    items: Vec<Arc<Stored>>,
    start: Vec<u8>,
    end: Vec<u8>,
    place: Place,
    indent: Option<Indent>,
    /// For the items.
    _charge: Option<Charge>,
}

impl Encoder {
    /// Returns whether the page must be measured on a blocking thread: protobuf needs the length of all items before
    /// the first can be sent.
    pub fn measures(&self, page: &Page) -> bool {
        self.accepted.media == MediaType::PROTOBUF && page.items.len() >= MANY
    }

    /// Returns a page of a list. `charge` is for [its memory](Page::held_bytes).
    ///
    /// # Errors
    /// Returns 406 if a single object was requested; 500 if a stored object cannot be encoded.
    pub fn page(self, code: StatusCode, page: Page, charge: Option<Charge>) -> Result<Response, Status> {
        let media = self.accepted.media;
        let mut body = ListBody::new(self, page, charge)?;
        let mut whole = Vec::new();
        while let Some(piece) = body.next(GZIP_BYTES)? {
            whole.extend_from_slice(&piece);
            if whole.len() > GZIP_BYTES {
                body.rewind();
                return Ok(Response::pieces(code, media, body)); // list_body.L1
            }
        }
        Ok(Response::encoded(code, media, whole))
    }

    /// Returns a list of objects that are not stored and have no version.
    ///
    /// # Errors
    /// The same as those of [`page`](Self::page).
    pub fn unstored_list(&self, code: StatusCode, items: &[Value]) -> Result<Response, Status> {
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
                let table = self.printer(version).list(items, ListMeta::default());
                self.serialized(code, &table)
            }
        }
    }

    /// Returns the metadata of the list. A list of custom objects has an empty `continue` on the last page.
    fn list_metadata(&self, page: &Page) -> Result<Value, Status> {
        let mut metadata = serde_json::to_value(list_meta(page)).map_err(Status::internal_error)?;
        if self.resource.custom.is_some() && metadata["continue"].is_null() {
            metadata["continue"] = "".into();
        }
        Ok(metadata)
    }

    /// Returns the list kind: `PodList`, unless a definition sets another.
    fn list_kind(&self) -> Cow<'_, str> {
        match &self.resource.custom {
            Some(custom) => Cow::Borrowed(custom.list_kind()),
            None => Cow::Owned(format!("{}List", self.kind.kind())),
        }
    }
}

impl ListBody {
    fn new(encoder: Encoder, page: Page, charge: Option<Charge>) -> Result<Self, Status> {
        let media = encoder.accepted.media;
        let (form, (start, mut end)) = match (encoder.accepted.transform, media) {
            (None, MediaType::JSON | MediaType::Yaml) => {
                let around = Around {
                    kind: &encoder.list_kind(),
                    api_version: encoder.kind.api_version(),
                    metadata: encoder.list_metadata(&page)?,
                    items: Some([]),
                };
                // Go writes the fields of a type in order of declaration, and those of a custom resource sorted.
                let around = if encoder.resource.custom.is_some() {
                    split(&json!(around), media, "items", &page)
                } else {
                    split(&around, media, "items", &page)
                };
                (Form::Object, around?)
            }
            (None, MediaType::PROTOBUF) => {
                let lengths = measure(&page.items, |items| encoder.item_messages(items))?;
                let around = message_list(
                    &list_meta(&page),
                    &lengths,
                    encoder.kind.api_version(),
                    &encoder.list_kind(),
                );
                (Form::Message(lengths), around)
            }
            (Some((Shape::PartialObjectMetadata, _)), _) => {
                let message = "you requested PartialObjectMetadata, but the requested object is a list";
                return Err(encoder.wrong_shape(message, "List"));
            }
            (Some((Shape::PartialObjectMetadataList, version)), MediaType::PROTOBUF) => {
                let lengths = measure(&page.items, |items| encoder.partial_messages(items))?;
                let around = message_list(&list_meta(&page), &lengths, version.api_version(), PARTIAL_LIST);
                (Form::PartialMessage(lengths), around)
            }
            (Some((Shape::PartialObjectMetadataList, version)), _) => {
                let around = Around {
                    kind: PARTIAL_LIST,
                    api_version: version.api_version(),
                    metadata: json!(list_meta(&page)),
                    items: (!page.items.is_empty()).then_some([]), // null if empty, as in kube-apiserver
                };
                (Form::Partial(version), split(&around, media, "items", &page)?)
            }
            (Some((Shape::Table, version)), _) => {
                let now = Timestamp::now();
                let default_class = default_class(&encoder, &page)?;
                let printer = encoder.printer_at(version, now);
                let around = if page.items.is_empty() {
                    printer.list(&[], list_meta(&page))
                } else {
                    printer.list_of_rows(list_meta(&page))
                };
                let around = split(&around, media, "rows", &page)?;
                (Form::Row { version, now, default_class }, around)
            }
        };
        let pretty = media == MediaType::JSON && encoder.accepted.pretty;
        if media == MediaType::JSON && !pretty {
            end.push(b'\n');
        }
        let indent = pretty.then(Indent::default);
        let (items, place) = (page.items, Place::Start);
        Ok(Self { encoder, form, items, start, end, place, indent, _charge: charge })
    }

    fn rewind(&mut self) {
        self.place = Place::Start;
        self.indent = self.indent.map(|_| Indent::default());
    }

    /// Appends items from `from` on, at least one, up to about `bytes`; returns the index of the next item.
    fn items(&self, from: usize, bytes: usize, out: &mut Vec<u8>) -> Result<usize, Status> {
        let (encoder, bytes) = (&self.encoder, bytes.max(1));
        if let Form::Message(lengths) | Form::PartialMessage(lengths) = &self.form {
            let mut sum = 0;
            let more = lengths[from..].iter().take_while(|length| {
                let is_more = sum < bytes;
                sum += **length as usize;
                is_more
            });
            let to = from + more.count();
            let messages = match &self.form {
                Form::Message(_) => encoder.item_messages(&self.items[from..to])?,
                _ => encoder.partial_messages(&self.items[from..to])?,
            };
            for (message, length) in messages.iter().zip(&lengths[from..to]) {
                if message.len() != *length as usize {
                    return Err(Status::internal_error("an object was encoded with two different lengths"));
                }
                put_bytes(out, 2, message);
            }
            return Ok(to);
        }
        let is_json = encoder.accepted.media == MediaType::JSON;
        for (position, stored) in self.items.iter().enumerate().skip(from) {
            if out.len() >= bytes {
                return Ok(position);
            }
            if is_json && position > 0 {
                out.push(b',');
            }
            match &self.form {
                Form::Partial(version) => {
                    let partial = encoder.partial(&encoder.view.value(stored)?, *version);
                    encoder.element(&GoOrder(&partial), out)?;
                }
                Form::Row { version, now, default_class } => {
                    let value = encoder.view.value(stored)?;
                    let row = encoder.printer_at(*version, *now).list_row(&value, default_class.as_deref());
                    encoder.element(&row, out)?;
                }
                _ => encoder.item(stored, out)?,
            }
        }
        Ok(self.items.len())
    }
}

impl Pieces for ListBody {
    fn next(&mut self, bytes: usize) -> Result<Option<Bytes>, Status> {
        let mut piece = Vec::new();
        self.place = match self.place {
            // Sent by itself, and therefore short (list_body.L1).
            Place::Start => {
                piece.extend_from_slice(&self.start);
                if self.items.is_empty() { Place::End } else { Place::Item(0) }
            }
            Place::Item(from) => {
                piece.reserve(bytes.min(GZIP_BYTES) + ITEM_BYTES);
                let next = self.items(from, bytes, &mut piece)?;
                if next < self.items.len() { Place::Item(next) } else { Place::End }
            }
            Place::End => {
                piece.extend_from_slice(&self.end);
                Place::Past
            }
            Place::Past => return Ok(None),
        };
        if let Some(indent) = &mut self.indent {
            let plain = std::mem::take(&mut piece);
            indent.push(&plain, &mut piece);
        }
        Ok(Some(piece.into()))
    }
}

const PARTIAL_LIST: &str = "PartialObjectMetadataList";

/// A list without its items, in Go's field order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Around<'a> {
    kind: &'a str,
    api_version: &'a str,
    metadata: Value,
    items: Option<[(); 0]>,
}

/// Splits an empty list into the text before and after its elements.
fn split(
    around: &impl Serialize,
    media: MediaType,
    field: &str,
    page: &Page,
) -> Result<(Vec<u8>, Vec<u8>), Status> {
    if media != MediaType::Yaml {
        let text = serde_json::to_string(around).map_err(Status::internal_error)?;
        let empty = format!("\"{field}\":[]"); // quotes inside strings are escaped
        let end = text.find(&empty).map_or(text.len(), |at| at + empty.len() - 1); // or it is null
        let (start, end) = text.split_at(end);
        return Ok((start.as_bytes().to_vec(), end.as_bytes().to_vec()));
    }
    let value = serde_json::to_value(around).map_err(Status::internal_error)?;
    let text = yaml::write(&value);
    if page.items.is_empty() {
        return Ok((text.into_bytes(), Vec::new()));
    }
    let empty = format!("\n{field}: []\n");
    let (start, end) =
        text.split_once(&empty).ok_or_else(|| Status::internal_error("a list has no items"))?;
    Ok((format!("{start}\n{field}:\n").into_bytes(), end.as_bytes().to_vec()))
}

/// Returns the default storage class of a list of storage classes, which the table marks.
fn default_class(encoder: &Encoder, page: &Page) -> Result<Option<String>, Status> {
    if !encoder.resource.rules().marks_default() {
        return Ok(None);
    }
    let values: Result<Vec<Value>, Status> =
        page.items.iter().map(|stored| encoder.view.value(stored)).collect();
    Ok(default_storage_class(&values?).map(str::to_owned))
}

fn list_meta(page: &Page) -> ListMeta {
    ListMeta {
        resource_version: page.revision.to_string(),
        continue_token: page.continue_token.clone().unwrap_or_default(),
        remaining_item_count: page.remaining.and_then(|left| i64::try_from(left).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Accepted;
    use crate::print::IncludeObject;
    use crate::read::indent::indent;
    use crate::registry;
    use crate::store::{Revision, Unversioned};

    fn page(resource: &str, count: u64) -> Page {
        let items = (0..count).map(|number| {
            let value = json!({"metadata": {"name": format!("a{number}"), "namespace": "n",
                "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
                "creationTimestamp": "2026-11-15T10:00:00Z", "uid": resource}, "data": {"text": "x\ny {} []"}});
            let value = Unversioned::from_json(value.to_string().as_bytes()).unwrap();
            Arc::new(value.commit(Revision::new(2 + number), Revision::new(2 + number)))
        });
        let continue_token = Some("next".to_owned());
        Page { items: items.collect(), revision: Revision::new(99), continue_token, remaining: Some(7) }
    }

    fn body(resource: (&str, &str, &str), accepted: Accepted, count: u64) -> ListBody {
        let row = registry::builtin().get(resource.0, resource.1, resource.2).unwrap();
        let encoder = Encoder::new(registry::builtin(), row, accepted, IncludeObject::Object);
        let mut body = ListBody::new(encoder, page(resource.2, count), None).unwrap();
        if let Form::Row { now, .. } = &mut body.form {
            *now = "2026-11-15T10:05:00Z".parse().unwrap();
        }
        body
    }

    fn all(body: &mut ListBody, bytes: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(piece) = body.next(bytes).unwrap() {
            all.extend_from_slice(&piece);
        }
        all
    }

    const RESOURCES: [(&str, &str, &str); 2] =
        [("", "v1", "configmaps"), ("storage.k8s.io", "v1", "storageclasses")];

    #[test]
    fn a_list_is_the_same_in_pieces_of_any_length_and_again_after_a_rewind() {
        let shapes = [
            None,
            Some((Shape::PartialObjectMetadataList, MetaVersion::V1)),
            Some((Shape::Table, MetaVersion::V1)),
        ];
        for resource in RESOURCES {
            for media in [MediaType::JSON, MediaType::Yaml, MediaType::PROTOBUF] {
                for (transform, pretty) in
                    shapes.into_iter().flat_map(|shape| [(shape, false), (shape, true)])
                {
                    if media == MediaType::PROTOBUF && matches!(transform, Some((Shape::Table, _))) {
                        continue; // not offered
                    }
                    for count in [0, 1, 5] {
                        let mut list = body(resource, Accepted { media, pretty, transform }, count);
                        let whole = all(&mut list, usize::MAX);
                        for bytes in [0, 1, 300, 1000] {
                            list.rewind();
                            let pieces = all(&mut list, bytes);
                            assert!(pieces == whole, "list_body.L2: {media:?} {transform:?} in {bytes}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_list_in_pieces_equals_a_list_encoded_at_once() {
        for resource in RESOURCES {
            for transform in [
                None,
                Some((Shape::PartialObjectMetadataList, MetaVersion::V1)),
                Some((Shape::Table, MetaVersion::V1)),
            ] {
                for count in [0, 1, 3] {
                    let form = |media, pretty| {
                        all(&mut body(resource, Accepted { media, pretty, transform }, count), 1)
                    };
                    let json = form(MediaType::JSON, false);
                    let value: Value = serde_json::from_slice(&json).unwrap();
                    let elements = value.get("items").or(value.get("rows")).unwrap();
                    assert_eq!(elements.as_array().map_or(0, Vec::len) as u64, count);
                    assert_eq!(value["metadata"]["continue"], "next");
                    assert_eq!(form(MediaType::JSON, true), indent(&json));
                    assert_eq!(String::from_utf8(form(MediaType::Yaml, false)).unwrap(), yaml::write(&value));
                }
            }
        }
    }

    #[test]
    fn only_one_storage_class_is_marked_as_the_default_in_a_list() {
        let transform = Some((Shape::Table, MetaVersion::V1));
        let accepted = Accepted { media: MediaType::JSON, pretty: false, transform };
        let table = all(&mut body(RESOURCES[1], accepted, 3), 1);
        assert_eq!(String::from_utf8(table).unwrap().matches("(default)").count(), 1);
    }
}
