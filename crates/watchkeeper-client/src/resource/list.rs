//! Lists of objects.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use watchkeeper_core::{Encoding, GroupVersion, ListMeta};
use watchkeeper_wire::protobuf::peek_type;
use watchkeeper_wire::{Kind, Limits, ListSplitter, decode_bytes, json};

use crate::rest::{Receive, RequestError, Response};
use crate::transport::BodyBuffer;

/// A list of objects, or a page of one.
///
/// ```no_run
/// # async fn example(client: watchkeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let pods = client.dynamic(&"v1".parse()?, "pods").list(&Default::default()).await?;
/// println!("resource version {}", pods.metadata.resource_version);
/// for pod in pods {
///     println!("{}", pod.name());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct List<T> {
    /// The metadata of the list.
    pub metadata: ListMeta,
    /// The objects.
    pub items: Vec<T>,
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<T: DeserializeOwned> List<T> {
    /// Decodes a list that was read whole.
    pub(super) fn read(response: &Response) -> Result<Self, RequestError> {
        match response.failure_status() {
            Some(status) => Err(response.api_error(status)),
            None => Self::decode(response).map_err(|why| response.undecodable(why)),
        }
    }

    fn decode(response: &Response) -> Result<Self, String> {
        let (api_version, kind) =
            response.object_type().ok_or("not a list: apiVersion or kind is missing")?;
        let encoding = response.encoding().unwrap_or(Encoding::Json);
        let mut items = Items::new(encoding, item_kind(&api_version, &kind)?);
        items.push(response.body.clone())?;
        items.finish()
    }
}

/// Returns the kind of a list's items.
fn item_kind(api_version: &str, kind: &str) -> Result<Kind, String> {
    let item = kind.strip_suffix("List").ok_or_else(|| format!("not a list: kind is {kind}"))?;
    let version: GroupVersion =
        api_version.parse().map_err(|_| format!("invalid apiVersion {api_version:?}"))?;
    Ok(Kind::new(&version.group, &version.version, item))
}

/// Returns the minimum size of an object with a name, in bytes. Shorter items are rejected before memory is spent on
/// them: an empty item takes three bytes in a list, and hundreds as a typed object.
fn min_item_bytes(encoding: Encoding) -> usize {
    match encoding {
        Encoding::Json => r#"{"metadata":{"name":"a"}}"#.len(),
        Encoding::Protobuf => 5, // tags and lengths of metadata and name, and one letter
    }
}

/// The items of a list, decoded as they arrive.
pub(super) struct Items<T> {
    encoding: Encoding,
    split: ListSplitter,
    kind: Kind,
    /// Whether items carry their own apiVersion and kind. Those of built-in kinds do not; the list does.
    items_are_typed: Option<bool>,
    items: Vec<T>,
}

impl<T: DeserializeOwned> Items<T> {
    fn new(encoding: Encoding, kind: Kind) -> Self {
        let split = ListSplitter::new(encoding, Limits::DEFAULT);
        Self { encoding, split, kind, items_are_typed: None, items: Vec::new() }
    }

    fn push(&mut self, chunk: Bytes) -> Result<(), String> {
        let Self { encoding, split, kind, items_are_typed, items } = self;
        split.push(chunk);
        while let Some(item) = split.next().map_err(|error| error.to_string())? {
            if item.len() < min_item_bytes(*encoding) {
                return Err(format!("item {} has no name", items.len()));
            }
            let is_typed = *items_are_typed
                .get_or_insert_with(|| *encoding == Encoding::Json && json::read_type(item).is_ok());
            let decoded = if is_typed {
                json::check_values(item)
                    .map_err(|error| error.to_string())
                    .and_then(|()| serde_json::from_slice(item).map_err(|error| error.to_string()))
            } else {
                decode_bytes(*encoding, item, kind).map_err(|error| error.to_string())
            };
            items.push(decoded.map_err(|why| format!("item {}: {why}", items.len()))?);
        }
        Ok(())
    }

    fn finish(self) -> Result<List<T>, String> {
        let metadata = self.split.finish().map_err(|error| error.to_string())?;
        Ok(List { metadata, items: self.items })
    }
}

/// A receiver of a list. In protobuf, which starts with its type, items are decoded as they arrive; in JSON, after the
/// last byte.
pub(super) enum ListReceiver<T> {
    /// Bytes buffered until the type is known; JSON bodies are always buffered whole.
    Buffering(BodyBuffer),
    Items(Box<Items<T>>),
}

impl<T> Default for ListReceiver<T> {
    fn default() -> Self {
        Self::Buffering(BodyBuffer::default())
    }
}

impl<T: DeserializeOwned> Receive for ListReceiver<T> {
    type Output = List<T>;

    fn push(&mut self, response: &Response, chunk: Bytes) -> Result<(), String> {
        let buffer = match self {
            Self::Items(items) => return items.push(chunk),
            Self::Buffering(buffer) => buffer,
        };
        buffer.push(chunk);
        if response.encoding() != Some(Encoding::Protobuf) {
            return Ok(());
        }
        let Some((api_version, kind)) = peek_type(buffer.as_slice()) else { return Ok(()) };
        let Ok(kind) = item_kind(api_version, kind) else { return Ok(()) }; // perhaps a Status
        let mut items = Box::new(Items::new(Encoding::Protobuf, kind));
        items.push(std::mem::take(buffer).finish())?;
        *self = Self::Items(items);
        Ok(())
    }

    fn finish(self, mut response: Response) -> Result<List<T>, RequestError> {
        match self {
            Self::Items(items) => items.finish().map_err(|why| response.undecodable(why)),
            Self::Buffering(buffer) => {
                response.body = buffer.finish();
                List::read(&response)
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

    fn response(encoding: Encoding) -> Response {
        let value = HeaderValue::from_static(encoding.media_type());
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, value)]);
        Response::new(StatusCode::OK, headers, Bytes::new(), "GET /api/v1/pods".to_owned())
    }

    fn protobuf(object: &Value) -> Vec<u8> {
        let kind = object["kind"].as_str().unwrap();
        let mut body = object.clone();
        body.as_object_mut().unwrap().retain(|name, _| name != "kind" && name != "apiVersion");
        let message = to_protobuf(&Encoded::json(body.to_string().into_bytes()), &Kind::new("", "v1", kind));
        wrap("v1", kind, &message.unwrap())
    }

    /// Receives a body in chunks of this length.
    fn receive(encoding: Encoding, body: &[u8], length: usize) -> Result<List<Value>, RequestError> {
        let (response, mut receiver) = (response(encoding), ListReceiver::default());
        for chunk in body.chunks(length) {
            let pushed = receiver.push(&response, Bytes::copy_from_slice(chunk));
            pushed.map_err(|why| response.undecodable(why))?;
        }
        receiver.finish(response)
    }

    #[test]
    fn a_list_does_not_depend_on_its_chunks() {
        let pod = |name: &str| json!({"metadata": {"name": name}, "spec": {"nodeName": "n1"}});
        let list = json!({
            "kind": "PodList", "apiVersion": "v1",
            "metadata": {"resourceVersion": "7", "continue": "more", "remainingItemCount": 3},
            "items": [pod("a"), pod("b"), pod("c")],
        });
        let bodies = [(Encoding::Json, list.to_string().into_bytes()), (Encoding::Protobuf, protobuf(&list))];
        for (encoding, body) in bodies {
            let whole = receive(encoding, &body, body.len()).unwrap();
            let metadata = &whole.metadata;
            assert_eq!((&metadata.resource_version, metadata.remaining_item_count), (&7.into(), Some(3)));
            let names: Vec<&Value> = (&whole).into_iter().map(|pod| &pod["metadata"]["name"]).collect();
            assert_eq!(names, ["a", "b", "c"]);
            assert_eq!(
                (&whole.items[1]["kind"], &whole.items[1]["metadata"]["name"]),
                (&json!("Pod"), &json!("b"))
            );
            for length in 1..body.len() {
                assert_eq!(receive(encoding, &body, length).unwrap(), whole, "{encoding:?} by {length}");
            }
            // The last four bytes of the envelope are two empty strings, which are optional.
            for length in 1..body.len() - 4 {
                assert!(receive(encoding, &body[..length], 16).is_err(), "{encoding:?} up to {length}");
            }
        }
    }

    #[test]
    fn other_objects_are_reported_by_their_kind() {
        let status =
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "code": 500});
        for length in [1, 7, 1_000] {
            let error = receive(Encoding::Protobuf, &protobuf(&status), length).unwrap_err();
            assert_eq!(error.status().unwrap().message, "no");
        }
        let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}});
        let error = receive(Encoding::Protobuf, &protobuf(&pod), 5).unwrap_err();
        assert!(error.to_string().ends_with("not a list: kind is Pod"), "{error}");
    }
}
