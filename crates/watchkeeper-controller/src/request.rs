//! Requests: a key to reconcile, and the trait that reconciles it.

use std::future::Future;

use watchkeeper_cache::Store;
use watchkeeper_core::{ObjectKey, ResourceVersion};

use crate::written::Written;
use crate::{Action, Error};

/// Reconciles one key at a time: a function of a [`Request`], or a type of your own.
pub trait Reconcile: Send + Sync + 'static {
    /// Brings the actual state closer to the desired state. The future is dropped when it exceeds the
    /// controller's timeout, or the grace period at shutdown.
    fn reconcile(&self, request: Request) -> impl Future<Output = Result<Action, Error>> + Send;
}

impl<F, R> Reconcile for F
where
    F: Fn(Request) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Action, Error>> + Send,
{
    fn reconcile(&self, request: Request) -> impl Future<Output = Result<Action, Error>> + Send {
        self(request)
    }
}

/// A key to reconcile. It carries no cause: reconciling looks at the current state, not at what changed.
#[derive(Debug, Clone)]
pub struct Request {
    pub(crate) key: ObjectKey,
    pub(crate) failures: u32,
    pub(crate) written: Written,
}

impl Request {
    /// Returns the key of the primary object, which may have been deleted.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// Returns the number of consecutive failures of this key.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Records a write made for this key: the key is not reconciled again before `store` has observed
    /// `version` (`controller.C3`).
    pub fn wrote(&self, store: &Store, version: impl Into<ResourceVersion>) {
        self.written.add(&self.key, store, version.into());
    }
}
