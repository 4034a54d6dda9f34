//! Requests: a key to reconcile, and what a reconcile function can take in its place.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use watchkeeper_cache::reader::GetError;
use watchkeeper_cache::{Informer, Keep, Store};
use watchkeeper_core::{ObjectKey, ResourceVersion};

use crate::Error;
use crate::expectations::Expectations;

/// A key to reconcile. It carries no cause: reconciling looks at the current state, not at what changed.
#[derive(Clone)]
pub struct Request {
    pub(crate) key: ObjectKey,
    pub(crate) failures: u32,
    pub(crate) primary: Informer,
    pub(crate) expectations: Expectations,
}

impl Request {
    /// Returns the key of the primary object, which may have been deleted.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// Returns the primary object from the cache, or `None` if it was deleted.
    ///
    /// # Errors
    /// Returns an error if the object is not a `K`.
    pub fn object<K: DeserializeOwned>(&self) -> Result<Option<Arc<K>>, GetError> {
        self.primary.reader::<K>(Keep::Encoded).get(&self.key)
    }

    /// Returns the number of consecutive failures of this key.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Records a write made for this key: the key is not reconciled again before `store` has observed `version`
    /// (`controller.C3`).
    ///
    /// This is needed only for writes that the controller cannot see: those of spawned tasks, and those made with
    /// another client library.
    pub fn expect(&self, store: &Store, version: impl Into<ResourceVersion>) {
        self.expectations.add(&self.key, store, version.into());
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request")
            .field("key", &self.key)
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}

/// The first parameter of a reconcile function.
///
/// - `Arc<K>`: the primary object. The function is not called for a deleted object; clean up with a
///   [`Finalizer`](crate::Finalizer).
/// - [`Request`]: the key of the primary object, which may have been deleted.
#[diagnostic::on_unimplemented(
    message = "a reconcile function takes an `Arc` of its object, or a `Request`, not `{Self}`",
    label = "expected `Arc<K>` with `K: DeserializeOwned`, or `Request`"
)]
pub trait FromRequest: Sized + Send + 'static {
    /// Returns the parameter, or `None` to skip the call.
    ///
    /// # Errors
    /// Returns an error if the object cannot be decoded.
    fn from_request(request: Request) -> Result<Option<Self>, Error>;
}

impl FromRequest for Request {
    fn from_request(request: Request) -> Result<Option<Self>, Error> {
        Ok(Some(request))
    }
}

impl<K: DeserializeOwned + Send + Sync + 'static> FromRequest for Arc<K> {
    fn from_request(request: Request) -> Result<Option<Self>, Error> {
        Ok(request.object()?)
    }
}
