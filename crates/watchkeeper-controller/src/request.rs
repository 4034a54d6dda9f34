//! Requests: a key that is to be looked at.

use std::future::Future;

use watchkeeper_cache::Store;
use watchkeeper_core::{ObjectKey, ResourceVersion};

use crate::written::Written;
use crate::{Action, Failure};

/// What a controller does for a key: a function of a [`Request`], or a type of one's own.
pub trait Reconcile: Send + Sync + 'static {
    /// Brings it into order. Dropped half-way when it takes too long, or at the end.
    fn reconcile(&self, request: Request) -> impl Future<Output = Result<Action, Failure>> + Send;
}

impl<F, R> Reconcile for F
where
    F: Fn(Request) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Action, Failure>> + Send,
{
    fn reconcile(&self, request: Request) -> impl Future<Output = Result<Action, Failure>> + Send {
        self(request)
    }
}

/// A key that may be out of order. Why is not said: what counts is what is now.
#[derive(Debug, Clone)]
pub struct Request {
    pub(crate) key: ObjectKey,
    pub(crate) failures: u32,
    pub(crate) written: Written,
}

impl Request {
    /// The key of the primary object, which may be gone.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// How often it has failed in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Something was written for this key: it is not looked at again before this store has that version (C3).
    pub fn wrote(&self, store: &Store, version: impl Into<ResourceVersion>) {
        self.written.add(&self.key, store, version.into());
    }
}
