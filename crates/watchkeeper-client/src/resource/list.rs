//! List: objects, and what is known of the list as a whole.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use watchkeeper_core::{Encoding, GroupVersion, ResourceVersion};
use watchkeeper_wire::protobuf::peek_type;
use watchkeeper_wire::{Kind, Limits, ListSplitter, decode_bytes, json};

use crate::rest::{Answer, MediaType, Receive, RequestError};
use crate::transport::Gather;

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
    /// Reads a list that has come as a whole.
    pub(super) fn read(answer: &Answer) -> Result<Self, RequestError> {
        match answer.refusal() {
            Some(status) => Err(answer.refused(status)),
            None => Self::of(answer).map_err(|why| answer.undecodable(why)),
        }
    }

    fn of(answer: &Answer) -> Result<Self, String> {
        let (api_version, kind) = answer.object_type().ok_or("it is no list: it does not say what it is")?;
        let encoding = match answer.media_type() {
            Some(MediaType::Protobuf) => Encoding::Protobuf,
            _ => Encoding::Json,
        };
        let mut items = Items::new(encoding, item_kind(&api_version, &kind)?);
        items.push(answer.body.clone())?;
        items.finish()
    }
}

/// The kind of the items of a list.
fn item_kind(api_version: &str, kind: &str) -> Result<Kind, String> {
    let item = kind.strip_suffix("List").ok_or_else(|| format!("it is no list but a {kind}"))?;
    let version: GroupVersion = api_version.parse().map_err(|_| format!("its version is {api_version:?}"))?;
    Ok(Kind::new(&version.group, &version.version, item))
}

/// How many bytes an object has at least that has a name. What is shorter is refused before memory is spent on it:
/// an empty item takes three bytes of a list, and hundreds as a typed object.
fn least_bytes(encoding: Encoding) -> usize {
    match encoding {
        Encoding::Json => r#"{"metadata":{"name":"a"}}"#.len(),
        Encoding::Protobuf => 5, // the tags and lengths of the metadata and the name, and one letter
    }
}

/// The items of a list, read as they come.
pub(super) struct Items<T> {
    encoding: Encoding,
    split: ListSplitter,
    kind: Kind,
    /// Items of built-in kinds do not say what they are, the list does; those of others do.
    speak_for_themselves: Option<bool>,
    read: Vec<T>,
}

impl<T: DeserializeOwned> Items<T> {
    fn new(encoding: Encoding, kind: Kind) -> Self {
        let split = ListSplitter::new(encoding, Limits::DEFAULT);
        Self { encoding, split, kind, speak_for_themselves: None, read: Vec::new() }
    }

    fn push(&mut self, chunk: Bytes) -> Result<(), String> {
        let Self { encoding, split, kind, speak_for_themselves, read } = self;
        split.push(chunk);
        while let Some(item) = split.next().map_err(|error| error.to_string())? {
            if item.len() < least_bytes(*encoding) {
                return Err(format!("item {} has no name", read.len()));
            }
            let speaks = *speak_for_themselves
                .get_or_insert_with(|| *encoding == Encoding::Json && json::read_type(item).is_ok());
            let decoded = match speaks {
                true => json::check_values(item)
                    .map_err(|error| error.to_string())
                    .and_then(|()| serde_json::from_slice(item).map_err(|error| error.to_string())),
                false => decode_bytes(*encoding, item, kind).map_err(|error| error.to_string()),
            };
            read.push(decoded.map_err(|why| format!("item {}: {why}", read.len()))?);
        }
        Ok(())
    }

    fn finish(self) -> Result<List<T>, String> {
        let end = self.split.finish().map_err(|error| error.to_string())?;
        Ok(List {
            items: self.read,
            version: end.version,
            continue_token: end.continue_token,
            remaining: end.remaining.and_then(|count| u64::try_from(count).ok()),
        })
    }
}

/// A list that is coming. In protobuf, which says what it is before all else, items are read while the rest
/// is still on its way; in JSON, once all of it is there.
pub(super) enum Arriving<T> {
    /// What has come of it, as long as it does not say that it is a list, or is JSON.
    Gathered(Gather),
    Items(Box<Items<T>>),
}

impl<T> Default for Arriving<T> {
    fn default() -> Self {
        Self::Gathered(Gather::default())
    }
}

impl<T: DeserializeOwned> Receive for Arriving<T> {
    type Received = List<T>;

    fn push(&mut self, answer: &Answer, chunk: Bytes) -> Result<(), String> {
        let gathered = match self {
            Self::Items(items) => return items.push(chunk),
            Self::Gathered(gathered) => gathered,
        };
        gathered.push(chunk);
        if answer.media_type() != Some(MediaType::Protobuf) {
            return Ok(());
        }
        let Some((api_version, kind)) = peek_type(gathered.arrived()) else { return Ok(()) };
        let Ok(kind) = item_kind(api_version, kind) else { return Ok(()) }; // a Status, perhaps
        let mut items = Box::new(Items::new(Encoding::Protobuf, kind));
        items.push(std::mem::take(gathered).finish())?;
        *self = Self::Items(items);
        Ok(())
    }

    fn finish(self, mut answer: Answer) -> Result<List<T>, RequestError> {
        match self {
            Self::Items(items) => items.finish().map_err(|why| answer.undecodable(why)),
            Self::Gathered(gathered) => {
                answer.body = gathered.finish();
                List::read(&answer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::CONTENT_TYPE;
    use http::{HeaderMap, HeaderValue, StatusCode};
    use serde_json::{Value, json};
    use watchkeeper_core::Encoded;
    use watchkeeper_wire::protobuf::wrap;
    use watchkeeper_wire::transcode::to_protobuf;

    fn answered(media_type: MediaType) -> Answer {
        let value = HeaderValue::from_static(media_type.as_str());
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, value)]);
        Answer::new(StatusCode::OK, headers, Bytes::new(), "GET /api/v1/pods".to_owned())
    }

    fn in_protobuf(object: &Value) -> Vec<u8> {
        let kind = object["kind"].as_str().unwrap();
        let mut body = object.clone();
        body.as_object_mut().unwrap().retain(|name, _| name != "kind" && name != "apiVersion");
        let message = to_protobuf(&Encoded::json(body.to_string().into_bytes()), &Kind::new("", "v1", kind));
        wrap("v1", kind, &message.unwrap())
    }

    /// What comes of a body that comes in pieces of this length.
    fn arrived(media_type: MediaType, body: &[u8], length: usize) -> Result<List<Value>, RequestError> {
        let (answer, mut arriving) = (answered(media_type), Arriving::default());
        for chunk in body.chunks(length) {
            let pushed = arriving.push(&answer, Bytes::copy_from_slice(chunk));
            pushed.map_err(|why| answer.undecodable(why))?;
        }
        arriving.finish(answer)
    }

    #[test]
    fn a_list_is_the_same_in_whatever_pieces_it_comes() {
        let pod = |name: &str| json!({"metadata": {"name": name}, "spec": {"nodeName": "n1"}});
        let list = json!({
            "kind": "PodList", "apiVersion": "v1",
            "metadata": {"resourceVersion": "7", "continue": "more", "remainingItemCount": 3},
            "items": [pod("a"), pod("b"), pod("c")],
        });
        let bodies =
            [(MediaType::Json, list.to_string().into_bytes()), (MediaType::Protobuf, in_protobuf(&list))];
        for (media_type, body) in bodies {
            let whole = arrived(media_type, &body, body.len()).unwrap();
            assert_eq!((whole.items.len(), &whole.version, whole.remaining), (3, &7.into(), Some(3)));
            assert_eq!(
                (&whole.items[1]["kind"], &whole.items[1]["metadata"]["name"]),
                (&json!("Pod"), &json!("b"))
            );
            for length in 1..body.len() {
                assert_eq!(arrived(media_type, &body, length).unwrap(), whole, "{media_type:?} by {length}");
            }
            // The last four bytes of the envelope are two empty texts, which need not be there.
            for length in 1..body.len() - 4 {
                assert!(arrived(media_type, &body[..length], 16).is_err(), "{media_type:?} up to {length}");
            }
        }
    }

    #[test]
    fn what_is_no_list_is_told_as_what_it_is() {
        let status =
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "code": 500});
        for length in [1, 7, 1_000] {
            let error = arrived(MediaType::Protobuf, &in_protobuf(&status), length).unwrap_err();
            assert_eq!(error.status().unwrap().message, "no");
        }
        let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}});
        let error = arrived(MediaType::Protobuf, &in_protobuf(&pod), 5).unwrap_err();
        assert!(error.to_string().ends_with("it is no list but a Pod"), "{error}");
    }
}
