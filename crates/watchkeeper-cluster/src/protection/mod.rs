//! Protection: claims, volumes and volume attributes classes stay until nothing uses them.
//!
//! Input: objects that the server gave a protection finalizer when they were created, and the objects that use them.
//! Output: the finalizer is removed from a deleted object once it is unused, and added where it is missing.
//!
//! Invariants:
//! - `protection.P1`: the finalizer of a deleted object is removed only after it was found to be unused.
//! - `protection.P2`: whatever can end a use (a pod, claim or volume that changes or is deleted) enqueues the
//!   object again.
//!
//! The three controllers differ only in what counts as a use: see [`Users`].

mod claims;
mod classes;
mod references;
mod volumes;

use std::future::Future;

use watchkeeper_cache::Reader;
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_controller::{Action, Error, Finalizer, Request};

use crate::context::{ControllerContext, Reconcile};
use crate::resource::Resource;

pub(crate) fn start(context: &mut ControllerContext) {
    claims::start(context);
    volumes::start(context);
    classes::start(context);
}

/// Decides whether an object is in use.
trait Users: Send + Sync + 'static {
    /// Returns whether anything still uses a deleted object.
    fn in_use(&self, object: &DynamicObject) -> impl Future<Output = Result<bool, Error>> + Send;
}

/// Keeps the finalizer on objects of one resource until nothing uses them.
struct Protection<U> {
    finalizer_name: &'static str,
    finalizer: Finalizer<DynamicObject>,
    objects: Reader<DynamicObject>,
    users: U,
}

impl<U: Users> Protection<U> {
    fn new(context: &ControllerContext, resource: Resource, finalizer_name: &'static str, users: U) -> Self {
        let objects = context.reader(resource);
        let finalizer = Finalizer::new(finalizer_name, &context.api(resource));
        Self { finalizer_name, finalizer, objects, users }
    }

    /// Returns whether an object is being deleted and still has our finalizer.
    fn awaits_us(&self, object: &DynamicObject) -> bool {
        let finalizers = object.get(&["metadata", "finalizers"]).and_then(|list| list.as_array());
        let has_ours = finalizers.is_some_and(|list| list.iter().any(|name| name == self.finalizer_name));
        has_ours && object.get(&["metadata", "deletionTimestamp"]).is_some()
    }
}

impl<U: Users> Reconcile for Protection<U> {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let Some(object) = self.objects.get(request.key())? else {
            return Ok(Action::await_change());
        };
        if self.awaits_us(&object) && self.users.in_use(&object).await? {
            return Ok(Action::await_change()); // the end of the use triggers another call (`protection.P2`)
        }
        // No cleanup is needed: the finalizer only waits for the object to be unused (`protection.P1`).
        self.finalizer.run(object, |_| async { Ok(Action::await_change()) }).await
    }
}
