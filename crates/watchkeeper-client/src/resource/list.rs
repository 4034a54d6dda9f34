//! List: objects, and what is known of the list as a whole.

use serde::de::DeserializeOwned;
use watchkeeper_core::{Encoding, GroupVersion, ResourceVersion};
use watchkeeper_wire::{Kind, Limits, ListSplitter, decode_bytes, json};

use crate::rest::{Answer, MediaType, RequestError};

/// Objects, or a page of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct List<T> {
    /// The objects.
    pub items: Vec<T>,
    /// The version of the list.
    pub version: ResourceVersion,
    /// Where the next page begins, if there is one.
    pub continue_token: Option<String>,
    /// How many objects the next pages have, where the server says so.
    pub remaining: Option<u64>,
}

impl<T: DeserializeOwned> List<T> {
    pub(super) fn read(answer: &Answer) -> Result<Self, RequestError> {
        match answer.refusal() {
            Some(status) => Err(answer.refused(status)),
            None => Self::of(answer).map_err(|why| answer.undecodable(why)),
        }
    }

    fn of(answer: &Answer) -> Result<Self, String> {
        let (api_version, kind) = answer.object_type().ok_or("it is no list: it does not say what it is")?;
        let item = kind.strip_suffix("List").ok_or_else(|| format!("it is no list but a {kind}"))?;
        let version: GroupVersion =
            api_version.parse().map_err(|_| format!("its version is {api_version:?}"))?;
        let kind = Kind::new(&version.group, &version.version, item);
        let encoding = match answer.media_type() {
            Some(MediaType::Protobuf) => Encoding::Protobuf,
            _ => Encoding::Json,
        };
        let mut split = ListSplitter::new(encoding, Limits::DEFAULT);
        split.push(answer.body.clone());
        let (mut items, mut speak_for_themselves) = (Vec::new(), None);
        while let Some(item) = split.next().map_err(|error| error.to_string())? {
            // Items of built-in kinds do not say what they are, the list does; those of others do.
            let speaks = *speak_for_themselves
                .get_or_insert_with(|| encoding == Encoding::Json && json::read_type(item).is_ok());
            let read = match speaks {
                true => serde_json::from_slice(item).map_err(|error| error.to_string()),
                false => decode_bytes(encoding, item, &kind).map_err(|error| error.to_string()),
            };
            items.push(read.map_err(|why| format!("item {}: {why}", items.len()))?);
        }
        let end = split.finish().map_err(|error| error.to_string())?;
        Ok(Self {
            items,
            version: end.version,
            continue_token: end.continue_token,
            remaining: end.remaining.and_then(|count| u64::try_from(count).ok()),
        })
    }
}
