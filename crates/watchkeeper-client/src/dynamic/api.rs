//! The verbs.

use http::Method;
use http::header::CONTENT_TYPE;
use serde_json::Value;
use watchkeeper_core::{GroupVersionResource, ResourceVersion, Status};
use watchkeeper_wire::Kind;

use super::{ApplyOptions, DeleteOptions, DynamicObject, ListOptions, WriteOptions};
use crate::rest::{Answer, PatchKind, Request, RequestError, RestClient};
use crate::source::RestSource;

/// The objects of one resource, in one namespace or in all. Clones are cheap.
#[derive(Clone, Debug)]
pub struct DynamicApi {
    client: RestClient,
    resource: GroupVersionResource,
    namespace: Option<String>,
}

/// Objects, and what is known of the list as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DynamicList {
    /// The objects. Those of a typed list have the kind that the list says.
    pub items: Vec<DynamicObject>,
    /// The version of the list.
    pub version: ResourceVersion,
    /// Where the next page begins, if there is one.
    pub continue_token: Option<String>,
    /// How many objects the next pages have, where the server says so.
    pub remaining: Option<u64>,
}

/// What came of a deletion.
#[derive(Debug, Clone, PartialEq)]
pub enum Deleted {
    /// It is gone.
    Gone(Box<Status>),
    /// It was there when the answer was sent, and may be still: it has finalizers, or time to end.
    Going(DynamicObject),
}

impl DynamicApi {
    pub(crate) fn new(client: RestClient, resource: GroupVersionResource) -> Self {
        Self { client, resource, namespace: None }
    }

    /// Only in this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Which resource this is of.
    pub fn resource(&self) -> &GroupVersionResource {
        &self.resource
    }

    /// The collection as the cache wants it. Its objects stay in JSON.
    pub fn source(&self, kind: &str) -> RestSource {
        let kind = Kind::new(&self.resource.group, &self.resource.version, kind);
        let source = RestSource::new(self.client.clone(), &self.resource.resource, kind);
        match &self.namespace {
            Some(namespace) => source.namespace(namespace),
            None => source,
        }
    }

    /// One object.
    ///
    /// # Errors
    /// As [`Request::send`]; so for all that follow.
    pub async fn get(&self, name: &str) -> Result<DynamicObject, RequestError> {
        self.one(Method::GET, name).send().await?.into()
    }

    /// A subresource of an object: `status`, `scale`.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_subresource(
        &self,
        name: &str,
        subresource: &str,
    ) -> Result<DynamicObject, RequestError> {
        self.one(Method::GET, name).subresource(subresource).send().await?.into()
    }

    /// The objects that are selected, or a page of them.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn list(&self, options: &ListOptions) -> Result<DynamicList, RequestError> {
        let answer = options.add_to(self.all(Method::GET)).send().await?;
        Ok(listed(answer.into()?))
    }

    /// Creates an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn create(
        &self,
        object: &DynamicObject,
        options: &WriteOptions,
    ) -> Result<DynamicObject, RequestError> {
        options.add_to(self.all(Method::POST)).object(object).send().await?.into()
    }

    /// Creates below an object: `eviction`, `binding`, `token`.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn create_subresource(
        &self,
        name: &str,
        subresource: &str,
        object: &DynamicObject,
    ) -> Result<DynamicObject, RequestError> {
        self.one(Method::POST, name).subresource(subresource).object(object).send().await?.into()
    }

    /// Writes an object as a whole. With its version, it must be the newest one.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn update(
        &self,
        object: &DynamicObject,
        options: &WriteOptions,
    ) -> Result<DynamicObject, RequestError> {
        options.add_to(self.one(Method::PUT, object.name())).object(object).send().await?.into()
    }

    /// Writes a subresource of an object, such as its `status`, and nothing else.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn update_subresource(
        &self,
        object: &DynamicObject,
        subresource: &str,
        options: &WriteOptions,
    ) -> Result<DynamicObject, RequestError> {
        let request = self.one(Method::PUT, object.name()).subresource(subresource);
        options.add_to(request).object(object).send().await?.into()
    }

    /// Changes an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn patch(
        &self,
        name: &str,
        kind: PatchKind,
        patch: &Value,
        options: &WriteOptions,
    ) -> Result<DynamicObject, RequestError> {
        let request = self.one(Method::PATCH, name).header(CONTENT_TYPE, kind.media_type());
        options.add_to(request).body(patch.to_string()).send().await?.into()
    }

    /// Makes an object what a manager wants of it, or creates it.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn apply(
        &self,
        object: &DynamicObject,
        options: &ApplyOptions,
    ) -> Result<DynamicObject, RequestError> {
        let mut request = self
            .one(Method::PATCH, object.name())
            .header(CONTENT_TYPE, PatchKind::Apply.media_type())
            .param("fieldManager", &options.field_manager)
            .param("force", options.force.to_string());
        if options.dry_run {
            request = request.param("dryRun", "All");
        }
        request.body(Value::from(object.clone()).to_string()).send().await?.into()
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<Deleted, RequestError> {
        deleted(self.one(Method::DELETE, name).object(&options.body()).send().await?)
    }

    /// Deletes the objects that are selected. Returns what the server says of them.
    ///
    /// # Errors
    /// As [`get`](Self::get). What has been deleted by then stays so.
    pub async fn delete_collection(
        &self,
        list: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<DynamicObject, RequestError> {
        list.add_to(self.all(Method::DELETE)).object(&options.body()).send().await?.into()
    }

    fn all(&self, method: Method) -> Request {
        let request = self.client.request(method).resource(&self.resource.resource);
        match &self.namespace {
            Some(namespace) => request.namespace(namespace),
            None => request,
        }
    }

    fn one(&self, method: Method, name: &str) -> Request {
        self.all(method).name(name)
    }
}

fn deleted(answer: Answer) -> Result<Deleted, RequestError> {
    let object: DynamicObject = answer.into()?;
    match object.kind() {
        "Status" => Ok(Deleted::Gone(Box::new(object.to_typed().unwrap_or_default()))),
        _ => Ok(Deleted::Going(object)),
    }
}

/// Items of a typed list do not say what they are: the list does.
fn listed(mut list: DynamicObject) -> DynamicList {
    let (api_version, kind) =
        (list.api_version().to_owned(), list.kind().trim_end_matches("List").to_owned());
    let items = match list.remove(&["items"]) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let items = items.into_iter().filter_map(|item| DynamicObject::try_from(item).ok());
    let named = items.map(|mut item| {
        if item.kind().is_empty() && item.api_version().is_empty() {
            item.set(&["apiVersion"], api_version.as_str().into());
            item.set(&["kind"], kind.as_str().into());
        }
        item
    });
    let token = list.text(&["metadata", "continue"]);
    DynamicList {
        items: named.collect(),
        version: list.resource_version().into(),
        continue_token: Some(token.to_owned()).filter(|token| !token.is_empty()),
        remaining: list.get(&["metadata", "remainingItemCount"]).and_then(Value::as_u64),
    }
}
