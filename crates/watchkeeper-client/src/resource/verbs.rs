//! The verbs of a resource.

use bytes::Bytes;
use http::Method;
use http::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use watchkeeper_core::Status;

use super::list::ListReceiver;
use super::{ApplyOptions, DeleteOptions, Deleted, List, ListOptions, ResourceClient, WriteOptions};
use crate::pager::{Items, Pager};
use crate::rest::{InvalidRequest, PatchKind, Request, RequestError, Shape};

impl<T: Serialize + DeserializeOwned> ResourceClient<T> {
    /// Reads an object.
    ///
    /// # Errors
    /// As [`Request::send`]. The same applies to all methods below.
    pub async fn get(&self, name: &str) -> Result<T, RequestError> {
        self.object_request(Method::GET, name).send().await?.into()
    }

    /// Reads an object; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`get`](Self::get), except if the object does not exist.
    pub async fn get_opt(&self, name: &str) -> Result<Option<T>, RequestError> {
        match self.get(name).await {
            Err(error) if error.is_not_found() => Ok(None),
            outcome => outcome.map(Some),
        }
    }

    /// Lists objects, or a page of them.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn list(&self, options: &ListOptions) -> Result<List<T>, RequestError> {
        self.list_request(Method::GET, options).receive(ListReceiver::default()).await
    }

    /// Creates an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn create(&self, object: &T, options: &WriteOptions) -> Result<T, RequestError> {
        let request = self.limit_to_object(self.collection_request(Method::POST));
        options.add_to(request).object(object).send().await?.into()
    }

    /// Replaces an object. If it has a resource version, that must be the current one.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn update(&self, object: &T, options: &WriteOptions) -> Result<T, RequestError> {
        let encoded = self.encode(object)?;
        let request = self.object_request(Method::PUT, &encoded.name);
        options.add_to(request).json_object(encoded.json).send().await?.into()
    }

    /// Patches an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn patch(
        &self,
        name: &str,
        kind: PatchKind,
        patch: &impl Serialize,
        options: &WriteOptions,
    ) -> Result<T, RequestError> {
        send_patch(self.object_request(Method::PATCH, name), kind, patch, options).await
    }

    /// Applies an object (server-side apply), creating it if necessary. `object` has its apiVersion, kind and name, and
    /// only those fields that the manager wants to own.
    ///
    /// # Errors
    /// As [`get`](Self::get). A field owned by another manager with another value is a conflict, unless
    /// [`force`](ApplyOptions::force) is set.
    pub async fn apply_object(
        &self,
        object: &impl Serialize,
        options: &ApplyOptions,
    ) -> Result<T, RequestError> {
        let encoded = self.encode(object)?;
        send_apply(self.object_request(Method::PATCH, &encoded.name), encoded.json, options).await
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<Deleted<T>, RequestError> {
        Deleted::read(self.object_request(Method::DELETE, name).object(&options.body()).send().await?)
    }

    /// Deletes all objects that match.
    ///
    /// # Errors
    /// As [`get`](Self::get). Objects deleted before the error stay deleted.
    pub async fn delete_collection(
        &self,
        list: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<DeletedCollection<T>, RequestError> {
        let response = self.list_request(Method::DELETE, list).object(&options.body()).send().await?;
        match response.object_type() {
            Some((_, kind)) if kind == "Status" => {
                Ok(DeletedCollection::Completed(Box::new(response.into()?)))
            }
            _ => Ok(DeletedCollection::Pending(List::read(&response)?)),
        }
    }
}

impl<T: Serialize + DeserializeOwned + Send + 'static> ResourceClient<T> {
    /// Lists objects in pages, and returns their items as a stream. A task fetches pages ahead, and ends when the stream
    /// is dropped. The [limit](ListOptions::limit) of `options` is the page size, [`PAGE_SIZE`](crate::pager::PAGE_SIZE)
    /// by default. Use a [`Pager`] to also choose the read-ahead, or what to do if the list expires between two pages.
    ///
    /// ```no_run
    /// # async fn example(pods: watchkeeper_client::dynamic::DynamicApi) -> Result<(), Box<dyn std::error::Error>> {
    /// use futures_util::TryStreamExt as _;
    ///
    /// let mut items = pods.list_items(&Default::default());
    /// while let Some(pod) = items.try_next().await? {
    ///     println!("{}", pod.name());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn list_items(&self, options: &ListOptions) -> Items<T> {
        let (client, first, options) = (self.clone(), options.request.clone(), options.clone());
        let pager = Pager::new(move |request| {
            let (client, options) = (client.clone(), ListOptions { request, ..options.clone() });
            async move { client.list(&options).await }
        });
        pager.items(first)
    }
}

/// The result of deleting a collection.
#[derive(Debug, Clone, PartialEq)]
pub enum DeletedCollection<T> {
    /// The objects are gone.
    Completed(Box<Status>),
    /// The matching objects. Some may still exist: they have finalizers, or a grace period.
    Pending(List<T>),
}

/// A serialized object and its name.
pub(super) struct EncodedObject {
    pub(super) json: Bytes,
    pub(super) name: String,
}

impl<T> ResourceClient<T> {
    /// Creates a request whose response is a list.
    fn list_request(&self, method: Method, options: &ListOptions) -> Request {
        let request = options.add_to(self.collection_request(method));
        match self.shape {
            Shape::Whole => request,
            _ => request.shape(Shape::MetadataList),
        }
    }

    /// Serializes an object and reads its name back (`resource.V1`).
    pub(super) fn encode(&self, object: &impl Serialize) -> Result<EncodedObject, RequestError> {
        #[derive(Deserialize)]
        struct Named {
            #[serde(default)]
            metadata: Name,
        }
        #[derive(Deserialize, Default)]
        struct Name {
            #[serde(default)]
            name: String,
        }
        let encoded = serde_json::to_vec(object)
            .and_then(|json| Ok((serde_json::from_slice::<Named>(&json)?.metadata.name, json)));
        match encoded {
            Ok((name, json)) => Ok(EncodedObject { json: json.into(), name }),
            Err(error) => Err(RequestError::Invalid {
                request: self.collection_request(Method::PUT).description(),
                source: InvalidRequest::Body { why: error.to_string() },
            }),
        }
    }
}

pub(super) async fn send_patch<T: DeserializeOwned>(
    request: Request,
    kind: PatchKind,
    patch: &impl Serialize,
    options: &WriteOptions,
) -> Result<T, RequestError> {
    let request = options.add_to(request.header(CONTENT_TYPE, kind.media_type()));
    let json = serde_json::to_vec(patch).map_err(|error| RequestError::Invalid {
        request: request.description(),
        source: InvalidRequest::Body { why: error.to_string() },
    })?;
    request.body(json).send().await?.into()
}

pub(super) async fn send_apply<T: DeserializeOwned>(
    request: Request,
    json: Bytes,
    options: &ApplyOptions,
) -> Result<T, RequestError> {
    let mut request = request
        .header(CONTENT_TYPE, PatchKind::Apply.media_type())
        .param("fieldManager", &options.field_manager)
        .param("force", options.force.to_string());
    if options.dry_run {
        request = request.param("dryRun", "All");
    }
    request.body(json).send().await?.into()
}
