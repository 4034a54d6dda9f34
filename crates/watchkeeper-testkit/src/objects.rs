//! Objects: written and read without a client, as the API server would for one.

use serde_json::Value;
use watchkeeper_apiserver::http::{FieldValidation, MASTERS, MediaType, User, WriteOptions, decode_object};
use watchkeeper_apiserver::registry::{self, Resource};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_apiserver::store::{CollectionId, Stored};
use watchkeeper_apiserver::write::{Call, ResponseBody, Writer};
use watchkeeper_core::{ObjectKey, Status};

use crate::TestCluster;

impl TestCluster {
    /// Creates an object, in the namespace of the cluster unless it names another, and returns it as it
    /// is stored. What it is, its `apiVersion` and `kind` say; a field that its kind does not have is
    /// refused. If dropped half-way, it may have been created.
    ///
    /// # Errors
    /// What the API server would answer. Faults do not apply: they are of the wire.
    pub async fn create(&self, object: Value) -> Result<Value, Status> {
        Objects::of(self.server()).create(object, self.namespace()).await
    }

    /// An object as it is stored, of the namespace of the cluster if its kind is in namespaces; `None`
    /// where there is none of this name.
    ///
    /// # Errors
    /// 400 where there is no such kind.
    pub async fn object(&self, api_version: &str, kind: &str, name: &str) -> Result<Option<Value>, Status> {
        Objects::of(self.server()).get(api_version, kind, self.namespace(), name).await
    }
}

/// The objects of a server.
pub(crate) struct Objects<'a> {
    server: &'a ApiServer,
}

impl<'a> Objects<'a> {
    pub(crate) fn of(server: &'a ApiServer) -> Self {
        Self { server }
    }

    pub(crate) async fn create(&self, object: Value, namespace: &str) -> Result<Value, Status> {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let resource = resource(text("apiVersion"), text("kind"))?;
        let own = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or(namespace);
        let namespace = Some(own.to_owned()).filter(|_| resource.is_namespaced());
        let validation = FieldValidation::Strict;
        let body = object.to_string();
        let decoded =
            decode_object(body.as_bytes(), MediaType::Json, &resource.group_version_kind(), validation)?;
        let user = User::new("kubernetes-admin", [MASTERS]);
        let namespace = namespace.as_deref();
        let call = Call { resource, subresource: None, namespace, name: None, user: &user };
        let options = WriteOptions { field_validation: validation, ..Default::default() };
        let writer = Writer::new(self.server.store().clone());
        match writer.create(&call, decoded.value, &options).await?.body {
            ResponseBody::Stored(stored) => shown(resource, &stored),
            ResponseBody::Value(value) => Ok(value),
            ResponseBody::Status(_) => Err(Status::internal_error("a create does not return a status")),
        }
    }

    async fn get(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Status> {
        let resource = resource(api_version, kind)?;
        let Some(storage) = resource.storage.as_deref() else { return Ok(None) };
        let key = match resource.is_namespaced() {
            true => ObjectKey::namespaced(namespace, name),
            false => ObjectKey::cluster(name),
        };
        let found = self.server.store().get(&CollectionId::from(storage), &key).await;
        let found = found.map_err(Status::internal_error)?;
        found.map(|stored| shown(resource, &stored)).transpose()
    }
}

fn resource(api_version: &str, kind: &str) -> Result<&'static Resource, Status> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let found = registry::builtin().by_kind(group, version, kind);
    let none = || Status::bad_request(format!("no kind {kind:?} is registered for version {api_version:?}"));
    found.map(|resource| &**resource).ok_or_else(none)
}

/// What is stored has no type: the collection has.
fn shown(resource: &Resource, stored: &Stored) -> Result<Value, Status> {
    let mut value: Value =
        serde_json::from_slice(&stored.object().encoded.body).map_err(Status::internal_error)?;
    let kind = resource.group_version_kind();
    value["apiVersion"] = resource.group_version().to_string().into();
    value["kind"] = kind.kind.into();
    Ok(value)
}
