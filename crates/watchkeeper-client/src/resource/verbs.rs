//! The verbs.

use bytes::Bytes;
use http::Method;
use http::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use watchkeeper_core::Status;

use super::list::Arriving;
use super::{ApplyOptions, DeleteOptions, Deleted, List, ListOptions, ResourceClient, WriteOptions};
use crate::rest::{InvalidRequest, PatchKind, Request, RequestError, Shape};

impl<T: Serialize + DeserializeOwned> ResourceClient<T> {
    /// One object.
    ///
    /// # Errors
    /// As [`Request::send`]; so for all that follow.
    pub async fn get(&self, name: &str) -> Result<T, RequestError> {
        self.one(Method::GET, name).send().await?.into()
    }

    /// One object, or `None` where there is none of that name.
    ///
    /// # Errors
    /// As [`get`](Self::get), less that.
    pub async fn find(&self, name: &str) -> Result<Option<T>, RequestError> {
        match self.get(name).await {
            Err(error) if error.is_not_found() => Ok(None),
            outcome => outcome.map(Some),
        }
    }

    /// The objects that are selected, or a page of them.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn list(&self, options: &ListOptions) -> Result<List<T>, RequestError> {
        self.many(Method::GET, options).receive(Arriving::default()).await
    }

    /// Creates an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn create(&self, object: &T, options: &WriteOptions) -> Result<T, RequestError> {
        options.add_to(self.limited(self.all(Method::POST))).object(object).send().await?.into()
    }

    /// Writes an object as a whole. With its version, it must be the newest one.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn update(&self, object: &T, options: &WriteOptions) -> Result<T, RequestError> {
        let written = self.written(object)?;
        let request = self.one(Method::PUT, &written.name);
        options.add_to(request).written_object(written.json).send().await?.into()
    }

    /// Changes an object.
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
        patched(self.one(Method::PATCH, name), kind, patch, options).await
    }

    /// Makes an object what a manager wants of it, or creates it. What is applied says its kind, its
    /// version and its name, and has only the fields that this manager wants to have a say in.
    ///
    /// # Errors
    /// As [`get`](Self::get). A field that another manager wants otherwise is a conflict, unless it is
    /// [forced](ApplyOptions::force).
    pub async fn apply(&self, object: &impl Serialize, options: &ApplyOptions) -> Result<T, RequestError> {
        let written = self.written(object)?;
        applied(self.one(Method::PATCH, &written.name), written.json, options).await
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<Deleted<T>, RequestError> {
        Deleted::read(self.one(Method::DELETE, name).object(&options.body()).send().await?)
    }

    /// Deletes the objects that are selected.
    ///
    /// # Errors
    /// As [`get`](Self::get). What has been deleted by then stays so.
    pub async fn delete_collection(
        &self,
        list: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<DeletedMany<T>, RequestError> {
        let answer = self.many(Method::DELETE, list).object(&options.body()).send().await?;
        match answer.object_type() {
            Some((_, kind)) if kind == "Status" => Ok(DeletedMany::Gone(Box::new(answer.into()?))),
            _ => Ok(DeletedMany::Going(List::read(&answer)?)),
        }
    }
}

/// What came of deleting many objects.
#[derive(Debug, Clone, PartialEq)]
pub enum DeletedMany<T> {
    /// They are gone.
    Gone(Box<Status>),
    /// Those that were selected. Some may be there still: they have finalizers, or time to end.
    Going(List<T>),
}

/// An object as it is sent.
pub(super) struct Written {
    pub(super) json: Bytes,
    pub(super) name: String,
}

impl<T> ResourceClient<T> {
    /// A request that is answered by a list.
    fn many(&self, method: Method, options: &ListOptions) -> Request {
        let request = options.add_to(self.all(method));
        match self.shape {
            Shape::Whole => request,
            _ => request.shape(Shape::MetadataList),
        }
    }

    /// Writes an object, and reads its name back (V1).
    pub(super) fn written(&self, object: &impl Serialize) -> Result<Written, RequestError> {
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
        let read = serde_json::to_vec(object)
            .and_then(|json| Ok((serde_json::from_slice::<Named>(&json)?.metadata.name, json)));
        match read {
            Ok((name, json)) => Ok(Written { json: json.into(), name }),
            Err(error) => Err(RequestError::Invalid {
                request: self.all(Method::PUT).description(),
                source: InvalidRequest::Body { why: error.to_string() },
            }),
        }
    }
}

pub(super) async fn patched<T: DeserializeOwned>(
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

pub(super) async fn applied<T: DeserializeOwned>(
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
