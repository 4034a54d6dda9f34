//! Reading: get, list and watch, out of the store.
//!
//! From: the [`api`](crate::api), which knows the resource and has read the options.
//! To:   [`Encoder`], which writes what was found as the client likes it.
//!
//! | to read | there is |
//! |---|---|
//! | one object | [`Reader::get`] |
//! | a collection, or a page of it | [`Reader::list`], which gives a [`Page`] |
//! | changes | [`Reader::watch`], which gives a [`Following`] |
//! | any of it in process | [`StoreSource`], a [`ListWatch`](watchkeeper_core::ListWatch), of [`StoreSources`] |
//!
//! - L1: all pages of a list are of one revision, that of the first, unless a page has expired and the
//!   client goes on all the same.
//! - L2: a page can be short, even empty, and not be the last; only a page without a token is.

mod encode;
mod events;
mod following;
mod indent;
mod list_body;
mod messages;
mod page;
mod selection;
mod source;
mod sources;
mod token;
mod view;
mod watch_body;

use std::sync::Arc;
use std::time::Duration;

use crate::http::{AtVersion, GetOptions, ListOptions};
use crate::registry::Resource;
use crate::store::{Collection, ReadError, Revision, Store, Stored};
use tokio::time::timeout;
use watchkeeper_core::{FieldSelector, ObjectKey, Status};

pub use encode::Encoder;
pub use events::{EVENTS_GROUP, core_event, new_event};
pub use following::{BOOKMARK_EVERY, Following, Notice, Step};
pub use messages::{GENERATION_BYTES, Messages};
pub use page::Page;
pub use selection::Selection;
pub use source::StoreSource;
pub use sources::StoreSources;
pub use token::{ContinueToken, TokenError};
pub use view::View;
pub(crate) use watch_body::error_frame;
pub use watch_body::watch_body;

/// How long a read waits for a version that is not there yet.
pub const FUTURE_WAIT: Duration = Duration::from_secs(3);

/// Which objects of a resource.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The row of the registry.
    pub resource: Arc<Resource>,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only this name.
    pub name: Option<String>,
    /// How this resource shows what is stored.
    pub view: View,
}

impl Scope {
    /// Where the store keeps them.
    ///
    /// # Errors
    /// 405 where nothing is kept.
    pub fn collection(&self) -> Result<Collection, Status> {
        let kept = self.resource.storage.as_deref().map(Collection::from);
        kept.ok_or_else(crate::http::method_not_allowed)
    }

    /// As narrow as the fields allow that every object has: one namespace, one name.
    fn narrowed(&self, fields: &FieldSelector) -> Self {
        let mut narrow = self.clone();
        if narrow.namespace.is_none() && self.resource.is_namespaced() {
            let said = fields.exact_value("metadata.namespace").filter(|said| !said.is_empty());
            narrow.namespace = said.map(str::to_owned);
        }
        if narrow.name.is_none() {
            let said = fields.exact_value("metadata.name").filter(|said| !said.is_empty());
            narrow.name = said.map(str::to_owned);
        }
        narrow
    }

    /// The one object that it can be about, if there is no other.
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
    /// Reads from this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// One object, in its newest state.
    ///
    /// # Errors
    /// 404 where it is not there; 504 where the version that is asked for does not come.
    pub async fn get(&self, scope: &Scope, options: &GetOptions) -> Result<Arc<Stored>, Status> {
        let name = scope.name.as_deref().unwrap_or_default();
        let key = match &scope.namespace {
            Some(namespace) => ObjectKey::namespaced(namespace, name),
            None => ObjectKey::cluster(name),
        };
        self.wait(options.resource_version).await?;
        let found = self.store.get(&scope.collection()?, &key).await.map_err(|error| unreadable(&error))?;
        found.ok_or_else(|| Status::not_found(&scope.resource.group_resource(), name))
    }

    /// A collection, or a page of it.
    ///
    /// # Errors
    /// 400 where the token or a field of the selector is none; 410 where the version has left the
    /// history; 504 where it does not come.
    pub async fn list(&self, scope: &Scope, options: &ListOptions) -> Result<Page, Status> {
        page::read(self, scope, options).await
    }

    /// The changes of a collection, perhaps after all that is in it. What goes wrong once the
    /// selectors are understood is told by the stream.
    ///
    /// # Errors
    /// 400 where a field of the selector is none; 405 where nothing is kept.
    pub async fn watch(&self, scope: &Scope, options: &ListOptions) -> Result<Following, Status> {
        Following::open(self, scope, options).await
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Waits until the store has got to a version, for [`FUTURE_WAIT`] at most.
    async fn wait(&self, version: AtVersion) -> Result<(), Status> {
        let AtVersion::At(number) = version else { return Ok(()) };
        match timeout(FUTURE_WAIT, self.store.wait_for(Revision::new(number))).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(unreadable(&error)),
            Err(_) => {
                let current = self.store.current().await.map_err(|error| unreadable(&error))?;
                Err(too_large(Revision::new(number), current))
            }
        }
    }
}

/// 504: the version has not come.
fn too_large(asked: Revision, current: Revision) -> Status {
    Status::too_large_resource_version(&asked.into(), &current.into(), Duration::from_secs(1))
}

/// What a failed read is answered with where it is not about paging.
fn unreadable(error: &ReadError) -> Status {
    match error {
        ReadError::Compacted { .. } => {
            Status::expired("The resourceVersion for the provided list is too old.")
        }
        ReadError::Future { asked, current } => too_large(*asked, *current),
        error => Status::internal_error(error),
    }
}
