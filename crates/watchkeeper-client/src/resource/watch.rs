//! Watch: changes as they happen.

use std::marker::PhantomData;
use std::pin::Pin;

use futures_core::Stream;
use http::{HeaderMap, Method};
use serde::de::DeserializeOwned;
use watchkeeper_core::{BoxError, Encoding, WatchError, WatchEvent, WatchRequest};
use watchkeeper_wire::{Kind, Limits, decode_bytes};

use super::{ListOptions, ResourceClient};
use crate::rest::Shape;
use crate::source::{Read, encoding_of, watched};

/// Events, until the watch ends.
pub type EventStream<T> = Pin<Box<dyn Stream<Item = Result<WatchEvent<T>, WatchError>> + Send>>;

impl<T: DeserializeOwned + Send + 'static> ResourceClient<T> {
    /// Changes of the objects that are selected. Of the options only the selectors count.
    ///
    /// The stream ends when the server ends the watch. It is not opened again: that is for an informer.
    ///
    /// # Errors
    /// If the server does not open it. What goes wrong later is the last item of the stream.
    pub async fn watch(
        &self,
        request: &WatchRequest,
        options: &ListOptions,
    ) -> Result<EventStream<T>, WatchError> {
        let asked = self.all(Method::GET).params(request.query());
        let asked = asked.selecting(&options.labels, &options.fields);
        let kind = match self.shape {
            Shape::Metadata | Shape::MetadataList => {
                Some(Kind::new("meta.k8s.io", "v1", "PartialObjectMetadata"))
            }
            Shape::Whole => self.kind.clone(),
        };
        let events = watched(asked, Typed { kind, of: PhantomData }).await?;
        Ok(Box::pin(events))
    }
}

/// Reads objects as a type.
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
            // An object of an event says what it is.
            (Encoding::Json, _) => Ok(serde_json::from_slice(bytes)?),
            (Encoding::Protobuf, Some(kind)) => Ok(decode_bytes(encoding, bytes, kind)?),
            (Encoding::Protobuf, None) => Err("it is in protobuf, and its kind is not known".into()),
        }
    }
}
