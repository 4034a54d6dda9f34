//! Writing: create, update, patch and delete objects.
//!
//! Input: a request that has been routed, and whose body has been decoded ([`decode_object`]).
//! Output: the [`Store`], with one compare-and-put per write; and the response.
//!
//! ```text
//! decode, defaults -> admission: mutate -> prepare, validate (rules of the kind) -> admission: validate -> store
//! ```
//!
//! Invariants:
//! - `write.W1`: a write is based on the stored object: if that has changed meanwhile, the write is computed again. Only a
//!   client that sent a resource version gets a conflict.
//! - `write.W2`: a write that changes nothing is not stored: the version stays, and watchers receive nothing.
//! - `write.W3`: a dry run does everything but store, and responds as the write would.
//! - `write.W4`: stored objects are in canonical form (no nulls, no empty optional fields), so that equal objects are
//!   equal bytes.
//! - `write.W5`: owners of fields are tracked from the first apply of an object; other objects have no `managedFields`.
//!
//! Not implemented: quotas and disruption budgets.
//!
//! If a future is dropped, its write has happened or not, as with the store. A single object is never written in part;
//! the deletion of a collection deletes one object after the other.
//!
//! [`decode_object`]: crate::http::decode_object

mod admit;
mod applied;
mod binding;
mod create;
mod delete;
mod draft;
mod managed;
mod modify;
mod name;
mod patched;
mod refusal;
mod review;
mod revise;
mod scale;
#[cfg(test)]
mod tests;
mod token;

use std::sync::Arc;

use crate::admission::{AdmissionChain, AdmissionPlugin};
use crate::http::{
    AlwaysAllow, Authenticator, Authorizer, DeleteOptions, PatchType, User, WriteOptions, method_not_allowed,
};
use crate::registry::Resource;
use crate::rules::services::AddressAllocator;
use crate::rules::{Action, CreateEndpoint};
use crate::store::{CollectionId, Store, Stored};
use bytes::Bytes;
use serde_json::Value;
use watchkeeper_core::{ObjectKey, Status};

pub use draft::Draft;
pub(crate) use draft::{empty_status, nested};
pub use name::name_warning;
pub(crate) use refusal::{check, fault, invalid_value, unavailable};
pub use scale::scale_of;

/// The target of a request.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The row of the registry.
    pub resource: &'a Resource,
    /// `status`, `scale`, `binding`, ...
    pub subresource: Option<&'a str>,
    /// The namespace of the path.
    pub namespace: Option<&'a str>,
    /// The name of the path.
    pub name: Option<&'a str>,
    /// Who sent the request.
    pub user: &'a User,
}

/// The result of a write.
#[derive(Debug, Clone)]
pub struct WriteResponse {
    /// 200, 201 or 202.
    pub code: u16,
    /// The body of the response.
    pub body: ResponseBody,
    /// Messages for `Warning` headers.
    pub warnings: Vec<String>,
}

/// The body of the response to a write.
#[derive(Debug, Clone)]
pub enum ResponseBody {
    /// The stored object, or the last state of a deleted one.
    Stored(Arc<Stored>),
    /// An object that is not stored (dry run, review, scale), with its `apiVersion` and `kind`.
    Value(Value),
    /// A status.
    Status(Status),
}

impl WriteResponse {
    fn new(code: u16, body: ResponseBody) -> Self {
        Self { code, body, warnings: Vec::new() }
    }
}

impl<'a> Call<'a> {
    /// Returns the collection in the store; 405 if the kind is not stored.
    fn collection(&self) -> Result<CollectionId, Status> {
        self.resource.storage.as_deref().map(CollectionId::from).ok_or_else(method_not_allowed)
    }

    /// Returns the name of the path; 405 without one.
    fn required_name(&self) -> Result<&'a str, Status> {
        self.name.filter(|name| !name.is_empty()).ok_or_else(method_not_allowed)
    }

    /// Returns the key of the object of the path.
    fn key(&self) -> Result<ObjectKey, Status> {
        Ok(self.key_of(self.required_name()?))
    }

    /// Returns the key of an object in the namespace of the path.
    fn key_of(&self, name: &str) -> ObjectKey {
        match self.namespace.filter(|_| self.resource.is_namespaced()) {
            Some(namespace) => ObjectKey::namespaced(namespace, name),
            None => ObjectKey::cluster(name),
        }
    }

    fn not_found(&self) -> Status {
        Status::not_found(&self.resource.group_resource(), self.name.unwrap_or_default())
    }

    fn conflict(&self, why: impl std::fmt::Display) -> Status {
        Status::conflict(&self.resource.group_resource(), self.name.unwrap_or_default(), why)
    }
}

/// Writes objects to a store.
#[derive(Clone)]
pub struct Writer {
    store: Arc<dyn Store>,
    addresses: AddressAllocator,
    admission: AdmissionChain,
    /// Reviews tokens, and issues them.
    authenticator: Arc<Authenticator>,
    /// Decides access reviews.
    authorizer: Arc<dyn Authorizer>,
}

impl Writer {
    /// Creates a writer with the built-in admission chain.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            addresses: AddressAllocator::new(store.clone()),
            admission: AdmissionChain::builtin(&store),
            store,
            authenticator: Arc::default(),
            authorizer: Arc::new(AlwaysAllow),
        }
    }

    /// Sets the authenticator; by default no token is valid and none is issued.
    #[must_use]
    pub fn authenticator(mut self, authenticator: Authenticator) -> Self {
        self.authenticator = Arc::new(authenticator);
        self
    }

    /// Sets the authorizer that decides access reviews; the default is [`AlwaysAllow`].
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = authorizer;
        self
    }

    /// Appends a plugin to the admission chain.
    #[must_use]
    pub fn admission(mut self, plugin: Arc<dyn AdmissionPlugin>) -> Self {
        self.admission.push(plugin);
        self
    }

    /// Returns the size of the stored object of the path in bytes; 0 if it does not exist.
    ///
    /// # Errors
    /// 503 if the store is unavailable, and 405 if the path does not name an object.
    pub async fn stored_bytes(&self, call: &Call<'_>) -> Result<usize, Status> {
        let stored = self.store.get(&call.collection()?, &call.key()?).await.map_err(refusal::unavailable)?;
        Ok(stored.map_or(0, |stored| stored.object().encoded.body.len()))
    }

    /// Handles a POST. The body is decoded, and its kind checked.
    ///
    /// # Errors
    /// The status to respond with.
    pub async fn create(
        &self,
        call: &Call<'_>,
        body: Value,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        match call.resource.rules().create_endpoint(call.subresource) {
            None => Err(method_not_allowed()),
            Some(CreateEndpoint::Object) => self.create_object(call, body, None, options).await,
            Some(CreateEndpoint::Action(action)) => {
                let body = self.admit_body(call, body, options.dry_run).await?;
                match action {
                    Action::Bind => self.bind(call, &body, options).await,
                    Action::Evict => self.evict(call, &body, options).await,
                    Action::IssueToken => self.request_token(call, body, options).await,
                    Action::Review(kind) => {
                        review::answer(kind, call, body, &self.authenticator, &*self.authorizer).await
                    }
                }
            }
        }
    }

    /// Handles a PUT.
    ///
    /// # Errors
    /// The status to respond with.
    pub async fn update(
        &self,
        call: &Call<'_>,
        body: Value,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        match call.subresource {
            Some("scale") => self.update_scale(call, &body, options).await,
            other if revise::is_endpoint(call.resource, other) => {
                self.update_object(call, body, options).await
            }
            _ => Err(method_not_allowed()),
        }
    }

    /// Handles a PATCH, given the body of the request.
    ///
    /// # Errors
    /// The status to respond with.
    pub async fn patch(
        &self,
        call: &Call<'_>,
        form: PatchType,
        patch: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        match call.subresource {
            Some("scale") if form == PatchType::Apply => self.apply_scale(call, &patch, options).await,
            Some("scale") => self.patch_scale(call, form, &patch, options).await,
            Some("finalize") => Err(method_not_allowed()),
            other if form == PatchType::Apply && revise::is_endpoint(call.resource, other) => {
                self.apply_object(call, &patch, options).await
            }
            other if revise::is_endpoint(call.resource, other) => {
                self.patch_object(call, form, &patch, options).await
            }
            _ => Err(method_not_allowed()),
        }
    }

    /// Handles the DELETE of one object.
    ///
    /// # Errors
    /// The status to respond with.
    pub async fn delete(&self, call: &Call<'_>, options: &DeleteOptions) -> Result<WriteResponse, Status> {
        match call.subresource {
            None => self.delete_object(call, options).await,
            Some(_) => Err(method_not_allowed()),
        }
    }

    /// Handles the DELETE of a collection: deletes the found objects one after the other.
    ///
    /// # Errors
    /// The status to respond with. Earlier deletions remain.
    pub async fn delete_collection(
        &self,
        call: &Call<'_>,
        found: &[Arc<Stored>],
        options: &DeleteOptions,
    ) -> Result<(), Status> {
        match call.subresource {
            None => self.delete_objects(call, found, options).await,
            Some(_) => Err(method_not_allowed()),
        }
    }
}
