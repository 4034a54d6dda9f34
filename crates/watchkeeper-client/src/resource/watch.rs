//! Watches of a resource.

use std::marker::PhantomData;
use std::pin::Pin;

use futures_core::Stream;
use http::{HeaderMap, Method};
use serde::de::DeserializeOwned;
use watchkeeper_core::{BoxError, Encoding, WatchError, WatchEvent, WatchRequest};
use watchkeeper_wire::{Kind, Limits, decode_bytes};

use super::{ListOptions, ResourceClient};
use crate::rest::Shape;
use crate::source::{Read, encoding_of, open_watch};

/// A stream of watch events.
pub type EventStream<T> = Pin<Box<dyn Stream<Item = Result<WatchEvent<T>, WatchError>> + Send>>;

impl<T: DeserializeOwned + Send + 'static> ResourceClient<T> {
    /// Watches objects. Only the selectors of `options` are used.
    ///
    /// The stream ends when the server ends the watch. It is not reopened; use an informer for that.
    ///
    /// # Errors
    /// If the watch cannot be opened. Later errors are the last item of the stream.
    pub async fn watch(
        &self,
        request: &WatchRequest,
        options: &ListOptions,
    ) -> Result<EventStream<T>, WatchError> {
        let watch = self.collection_request(Method::GET).params(request.query());
        let watch = watch.selecting(&options.labels, &options.fields);
        let kind = match self.shape {
            Shape::Metadata | Shape::MetadataList => {
                Some(Kind::new("meta.k8s.io", "v1", "PartialObjectMetadata"))
            }
            Shape::Whole => self.kind.clone(),
        };
        let events = open_watch(watch, Typed { kind, of: PhantomData }).await?;
        Ok(Box::pin(events))
    }
}

/// A decoder of objects as a type.
struct Typed<T> {
    kind: Option<Kind>,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Read for Typed<T> {
    type Object = T;

    fn limits(&self) -> Limits {
        Limits::DEFAULT
    }

    fn prepare(&mut self, headers: &HeaderMap) -> Result<Encoding, BoxError> {
        encoding_of(headers)
    }

    fn object(&mut self, encoding: Encoding, bytes: &[u8]) -> Result<T, BoxError> {
        match (encoding, &self.kind) {
            // JSON objects in events carry their type.
            (Encoding::Json, _) => Ok(serde_json::from_slice(bytes)?),
            (Encoding::Protobuf, Some(kind)) => Ok(decode_bytes(encoding, bytes, kind)?),
            (Encoding::Protobuf, None) => Err("cannot decode protobuf without a known kind".into()),
        }
    }
}
