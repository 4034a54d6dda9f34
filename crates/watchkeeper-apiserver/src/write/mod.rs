//! Writing: create, update, patch and delete objects as an API server does.
//!
//! From: a request that has been routed, and whose body has been decoded ([`decode_object`]).
//! To:   the [`Store`], one compare-and-put a change; and what to answer with.
//!
//! - W1: what is written was decided on what is stored at that moment: a write that finds something else
//!   there is decided anew, and only a client that named a version is told of the conflict.
//! - W2: a change that changes nothing is not written, so that it keeps its version and nobody hears of it.
//! - W3: a dry run does all but the write, and answers as the write would.
//! - W4: what is stored has the form in which the kind is written (no nulls, no empty optional fields), so
//!   that equal objects are equal bytes.
//!
//! - W5: who owns which fields is told of objects that somebody has applied, from then on; others have no
//!   `managedFields`, whatever is created with them.
//!
//! Absent for now: quotas and disruption budgets.
//!
//! A future that is dropped half-way has written or has not, as with the store; nothing is written in parts,
//! but for the deletion of a collection, which is a deletion of each.
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
use crate::store::{Collection, Store, Stored};
use bytes::Bytes;
use serde_json::Value;
use watchkeeper_core::{ObjectKey, Status};

pub use draft::Draft;
pub(crate) use draft::{empty_status, nested};
pub use name::name_warning;
pub(crate) use refusal::{check, fault, invalid_value, unavailable};
pub use scale::scale_of;

/// What a request is about.
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

/// What a write came to.
#[derive(Debug, Clone)]
pub struct Written {
    /// 200, 201 or 202.
    pub code: u16,
    /// What to answer with.
    pub answer: Answer,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
}

/// What to answer a write with.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The object as it is stored now, or as it was when it went.
    Stored(Arc<Stored>),
    /// An object that is not stored (dry run, review, scale), with its `apiVersion` and `kind`.
    Value(Value),
    /// A status.
    Status(Status),
}

impl Written {
    fn new(code: u16, answer: Answer) -> Self {
        Self { code, answer, warnings: Vec::new() }
    }
}

impl<'a> Call<'a> {
    /// The collection of the store; 405 where nothing is kept.
    fn collection(&self) -> Result<Collection, Status> {
        self.resource.storage.as_deref().map(Collection::from).ok_or_else(method_not_allowed)
    }

    /// The name of the path; 405 where it has none.
    fn required_name(&self) -> Result<&'a str, Status> {
        self.name.filter(|name| !name.is_empty()).ok_or_else(method_not_allowed)
    }

    /// The object of the path.
    fn key(&self) -> Result<ObjectKey, Status> {
        Ok(self.key_of(self.required_name()?))
    }

    /// An object in the namespace of the path.
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
    /// Whose tokens can be reviewed, and who issues new ones.
    authenticator: Arc<Authenticator>,
    /// Decides access reviews.
    authorizer: Arc<dyn Authorizer>,
}

impl Writer {
    /// Writes to this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            addresses: AddressAllocator::new(store.clone()),
            admission: AdmissionChain::builtin(&store),
            store,
            authenticator: Arc::default(),
            authorizer: Arc::new(AlwaysAllow),
        }
    }

    /// Who is known; by default nobody, so that no token is good and none is issued.
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

    /// How many bytes the stored object of the path has; 0 where there is none.
    ///
    /// # Errors
    /// 503 where the store does not answer, and 405 where the path does not name an object.
    pub async fn stored_bytes(&self, call: &Call<'_>) -> Result<usize, Status> {
        let stored = self.store.get(&call.collection()?, &call.key()?).await.map_err(refusal::unavailable)?;
        Ok(stored.map_or(0, |stored| stored.object().encoded.body.len()))
    }

    /// POST. The body is decoded and its kind checked already.
    ///
    /// # Errors
    /// The status to answer with instead.
    pub async fn create(
        &self,
        call: &Call<'_>,
        body: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
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

    /// PUT.
    ///
    /// # Errors
    /// The status to answer with instead.
    pub async fn update(
        &self,
        call: &Call<'_>,
        body: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        match call.subresource {
            Some("scale") => self.update_scale(call, &body, options).await,
            other if revise::is_endpoint(call.resource, other) => {
                self.update_object(call, body, options).await
            }
            _ => Err(method_not_allowed()),
        }
    }

    /// PATCH; the bytes are those of the request.
    ///
    /// # Errors
    /// The status to answer with instead.
    pub async fn patch(
        &self,
        call: &Call<'_>,
        form: PatchType,
        patch: Bytes,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
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

    /// DELETE of one object.
    ///
    /// # Errors
    /// The status to answer with instead.
    pub async fn delete(&self, call: &Call<'_>, options: &DeleteOptions) -> Result<Written, Status> {
        match call.subresource {
            None => self.delete_object(call, options).await,
            Some(_) => Err(method_not_allowed()),
        }
    }

    /// DELETE of a collection: of each object that was found in it, one by one.
    ///
    /// # Errors
    /// The status to answer with instead. What has been deleted by then stays so.
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
