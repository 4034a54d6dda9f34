//! Reading: get, list and watch, from the store.
//!
//! Input: the [`api`](crate::api), which has found the resource and parsed the options.
//! Output: [`Encoder`], which encodes the results.
//!
//! | to read | use |
//! |---|---|
//! | one object | [`Reader::get`] |
//! | a collection, or a page of it | [`Reader::list`], which returns a [`Page`] |
//! | changes | [`Reader::watch`], which returns a [`Watcher`] |
//! | inside the process | [`StoreSource`], a [`ListWatch`](watchkeeper_core::ListWatch), of [`StoreListWatchFactory`] |
//!
//! Invariants:
//! - `read.L1`: all pages of a list are at one revision, that of the first, unless a page has expired and the client
//!   continues nevertheless.
//! - `read.L2`: a page can be short or even empty without being the last; only a page without a token is the last.

mod encode;
mod events;
mod indent;
mod list_body;
mod list_items;
mod message_list;
mod messages;
mod page;
mod selection;
mod source;
mod sources;
mod token;
mod view;
mod watch_body;
mod watcher;

use std::sync::Arc;
use std::time::Duration;

use crate::http::{AtVersion, GetOptions, ListOptions};
use crate::registry::Resource;
use crate::store::{CollectionId, ReadError, Revision, Store, Stored};
use tokio::time::timeout;
use watchkeeper_core::{FieldSelector, ObjectKey, Status};

pub use encode::Encoder;
pub(crate) use events::core_json_patch;
pub use events::{EVENTS_GROUP, core_event, new_event};
pub use messages::{GENERATION_BYTES, Messages};
pub use page::Page;
pub use selection::Selection;
pub use source::StoreSource;
pub use sources::StoreListWatchFactory;
pub use token::{ContinueToken, TokenError};
pub use view::View;
pub(crate) use watch_body::error_frame;
pub use watch_body::watch_body;
pub use watcher::{BOOKMARK_EVERY, Step, WatchChange, Watcher};

/// The maximum wait for a version that does not exist yet.
pub const FUTURE_WAIT: Duration = Duration::from_secs(3);

/// Selects objects of a resource.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The row of the registry.
    pub resource: Arc<Resource>,
    /// The namespace; `None` for all.
    pub namespace: Option<String>,
    /// The name; `None` for all.
    pub name: Option<String>,
    /// The representation of stored objects in this resource.
    pub view: View,
}

impl Scope {
    /// Returns the collection that stores the objects.
    ///
    /// # Errors
    /// Returns 405 if objects of the resource are not stored.
    pub fn collection(&self) -> Result<CollectionId, Status> {
        let kept = self.resource.storage.as_deref().map(CollectionId::from);
        kept.ok_or_else(crate::http::method_not_allowed)
    }

    /// Narrows the scope to the namespace and name that the field selector requires, if any.
    fn narrow(&self, fields: &FieldSelector) -> Self {
        let mut narrow = self.clone();
        if narrow.namespace.is_none() && self.resource.is_namespaced() {
            let required = fields.exact_value("metadata.namespace").filter(|required| !required.is_empty());
            narrow.namespace = required.map(str::to_owned);
        }
        if narrow.name.is_none() {
            let required = fields.exact_value("metadata.name").filter(|required| !required.is_empty());
            narrow.name = required.map(str::to_owned);
        }
        narrow
    }

    /// Returns the key if the scope is a single object.
    fn key(&self) -> Option<ObjectKey> {
        let name = self.name.as_deref()?;
        match &self.namespace {
            Some(namespace) => Some(ObjectKey::namespaced(namespace, name)),
            None => (!self.resource.is_namespaced()).then(|| ObjectKey::cluster(name)),
        }
    }
}

/// Reads objects from a store.
#[derive(Clone)]
pub struct Reader {
    store: Arc<dyn Store>,
}

impl Reader {
    /// Creates a reader of this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Returns the newest state of an object.
    ///
    /// # Errors
    /// Returns 404 if it does not exist; 504 if the requested version does not come into existence.
    pub async fn get(&self, scope: &Scope, options: &GetOptions) -> Result<Arc<Stored>, Status> {
        let name = scope.name.as_deref().unwrap_or_default();
        let key = match &scope.namespace {
            Some(namespace) => ObjectKey::namespaced(namespace, name),
            None => ObjectKey::cluster(name),
        };
        self.wait(options.resource_version).await?;
        let found = self.store.get(&scope.collection()?, &key).await.map_err(|error| read_status(&error))?;
        found.ok_or_else(|| Status::not_found(&scope.resource.group_resource(), name))
    }

    /// Returns a collection, or a page of it.
    ///
    /// # Errors
    /// Returns 400 if the token or a field of the selector is invalid; 410 if the version has been compacted; 504 if
    /// it does not come into existence.
    pub async fn list(&self, scope: &Scope, options: &ListOptions) -> Result<Page, Status> {
        page::read(self, scope, options).await
    }

    /// Watches a collection, optionally beginning with its current objects. Errors after the selectors have been
    /// parsed are reported in the stream.
    ///
    /// # Errors
    /// Returns 400 if a field of the selector is invalid; 405 if objects of the resource are not stored.
    pub async fn watch(&self, scope: &Scope, options: &ListOptions) -> Result<Watcher, Status> {
        Watcher::open(self, scope, options).await
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Waits until the store has reached a version, for at most [`FUTURE_WAIT`].
    async fn wait(&self, version: AtVersion) -> Result<(), Status> {
        let AtVersion::At(number) = version else { return Ok(()) };
        match timeout(FUTURE_WAIT, self.store.wait_for(Revision::new(number))).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(read_status(&error)),
            Err(_) => {
                let current = self.store.current().await.map_err(|error| read_status(&error))?;
                Err(too_large(Revision::new(number), current))
            }
        }
    }
}

/// 504: the version has not come into existence.
fn too_large(asked: Revision, current: Revision) -> Status {
    Status::too_large_resource_version(&asked.into(), &current.into(), Duration::from_secs(1))
}

/// Converts a read error into a status, except for errors about paging.
fn read_status(error: &ReadError) -> Status {
    match error {
        ReadError::Compacted { .. } => {
            Status::expired("The resourceVersion for the provided list is too old.")
        }
        ReadError::Future { asked, current } => too_large(*asked, *current),
        error => Status::internal_error(error),
    }
}
