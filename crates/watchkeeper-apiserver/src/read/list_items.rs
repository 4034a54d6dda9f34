//! List items: the encodings of the objects in a list.
//!
//! Input: the objects of a [`Page`](super::Page).
//! Output: [`list_body`](super::list_body), which puts them into a list.

use std::sync::Arc;
use std::thread;

use crate::http::MediaType;
use crate::store::Stored;
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use watchkeeper_core::Status;
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::yaml;

use super::{Encoder, View};

/// Lists with at least this many objects are transcoded on several threads: below, threads cost more than they save.
pub(super) const MANY: usize = 500;

impl Encoder {
    /// Appends a list item, without its type unless it is of a custom kind.
    pub(super) fn item(&self, stored: &Stored, out: &mut Vec<u8>) -> Result<(), Status> {
        if self.accepted.media == MediaType::Yaml {
            let mut value = self.view.value(stored)?;
            if self.resource.custom.is_some() {
                value["apiVersion"] = self.kind.api_version().into();
                value["kind"] = self.kind.kind().into();
            }
            return self.element(&value, out);
        }
        if self.resource.custom.is_some() {
            out.extend_from_slice(&self.bare(stored)?);
            return Ok(());
        }
        if self.view.is_verbatim() {
            transcode::to_json(&stored.object().encoded, &self.kind, Types::Omitted, out)
                .map_err(|error| Status::internal_error(&error))
        } else {
            serde_json::to_writer(out, &self.view.value(stored)?).map_err(Status::internal_error)
        }
    }

    /// Appends an element of a list as JSON or YAML.
    pub(super) fn element(&self, element: &impl Serialize, out: &mut Vec<u8>) -> Result<(), Status> {
        if self.accepted.media == MediaType::Yaml {
            let value = serde_json::to_value(element).map_err(Status::internal_error)?;
            out.extend_from_slice(yaml::write(&Value::Array(vec![value])).as_bytes());
            return Ok(());
        }
        serde_json::to_writer(out, element).map_err(Status::internal_error)
    }

    /// Returns the messages of some items, from the cache or newly encoded.
    pub(super) fn item_messages(&self, items: &[Arc<Stored>]) -> Result<Vec<Bytes>, Status> {
        let kept = self.messages.as_ref().filter(|_| self.view == View::Own);
        let revisions = items.iter().map(|stored| stored.modified());
        let mut found = kept.map_or_else(|| vec![None; items.len()], |kept| kept.find(revisions));
        let missing: Vec<&Arc<Stored>> =
            items.iter().zip(&found).filter(|(_, it)| it.is_none()).map(|(stored, _)| stored).collect();
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

    /// Transcodes objects, on all processors if there are many.
    fn new_messages(&self, objects: &[&Arc<Stored>]) -> Result<Vec<Bytes>, Status> {
        // Without spare capacity, since they may be cached.
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

    /// Returns the messages of some items, reduced to their metadata.
    pub(super) fn partial_messages(&self, items: &[Arc<Stored>]) -> Result<Vec<Bytes>, Status> {
        items.iter().map(|stored| Ok(self.partial_bare(&self.view.value(stored)?)?.into())).collect()
    }
}
