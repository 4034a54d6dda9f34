//! Creates and reads objects in process, without a client.

use serde_json::Value;
use watchkeeper_apiserver::http::{FieldValidation, MASTERS, MediaType, User, WriteOptions, decode_object};
use watchkeeper_apiserver::registry::{self, Resource};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_apiserver::store::{CollectionId, Stored};
use watchkeeper_apiserver::write::{Call, ResponseBody, Writer};
use watchkeeper_core::{ObjectKey, Status};

use crate::TestCluster;

impl TestCluster {
    /// Creates an object, by default in the namespace of the cluster, and returns it as stored. `apiVersion` and
    /// `kind` are required; unknown fields are rejected. If the future is dropped, the object may still be created.
    ///
    /// # Errors
    /// The status that the API server would return, and 400 for a custom resource: only built-in kinds are known here.
    /// Injected faults, the server's authorizer and admission plugins that were added to it do not apply: they affect
    /// HTTP requests only.
    pub async fn create(&self, object: Value) -> Result<Value, Status> {
        Objects::of(self.server()).create(object, self.namespace()).await
    }

    /// Returns an object as stored, from the namespace of the cluster if its kind is namespaced; `None` if it does
    /// not exist.
    ///
    /// # Errors
    /// Status 400 for a kind that is not built in.
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
            decode_object(body.as_bytes(), MediaType::JSON, &resource.group_version_kind(), validation)?;
        let user = User::new("kubernetes-admin", [MASTERS]);
        let namespace = namespace.as_deref();
        let call = Call { resource, subresource: None, namespace, name: None, user: &user };
        let options = WriteOptions { field_validation: validation, ..Default::default() };
        let writer = Writer::new(self.server.store().clone());
        match writer.create(&call, decoded.value, &options).await?.body {
            ResponseBody::Stored(stored) => with_type(resource, &stored),
            ResponseBody::Value(value) => Ok(value),
            ResponseBody::Status(_) => Err(Status::internal_error("create returned a status")),
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
        let key = if resource.is_namespaced() {
            ObjectKey::namespaced(namespace, name)
        } else {
            ObjectKey::cluster(name)
        };
        let found = self.server.store().get(&CollectionId::from(storage), &key).await;
        let found = found.map_err(Status::internal_error)?;
        found.map(|stored| with_type(resource, &stored)).transpose()
    }
}

fn resource(api_version: &str, kind: &str) -> Result<&'static Resource, Status> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let found = registry::builtin().by_kind(group, version, kind);
    let unknown =
        || Status::bad_request(format!("no kind {kind:?} is registered for version {api_version:?}"));
    found.map(|resource| &**resource).ok_or_else(unknown)
}

/// Decodes a stored object and adds `apiVersion` and `kind`, which are not stored.
fn with_type(resource: &Resource, stored: &Stored) -> Result<Value, Status> {
    let mut value: Value =
        serde_json::from_slice(&stored.object().encoded.body).map_err(Status::internal_error)?;
    let kind = resource.group_version_kind();
    value["apiVersion"] = resource.group_version().to_string().into();
    value["kind"] = kind.kind.into();
    Ok(value)
}
