//! Finalizers: cleanup before an object is deleted.
//!
//! Invariants:
//! - `finalizer.Z1`: `Apply` runs only after the finalizer is on the object, so a deletion always passes
//!   through `Cleanup`.
//! - `finalizer.Z2`: the finalizer is removed only after the cleanup succeeded, and concurrent changes to the
//!   list of finalizers are never overwritten.
//! - `finalizer.Z3`: nothing runs for an object that is gone, was replaced by another of the same name, or is
//!   being deleted and waits only for other finalizers.

use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::rest::{PatchKind, RequestError};

use crate::{Action, Error};

/// Maximum attempts to update a list of finalizers that others keep changing.
const TRIES: u32 = 10;

/// A finalizer, which runs an apply or a cleanup step for an object and keeps the object's list of finalizers up to date.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use serde_json::Value;
/// use watchkeeper_controller::{Action, Error, Finalizer, Finalizing};
///
/// async fn reconcile(shop: Arc<Value>, finalizer: Arc<Finalizer<Value>>) -> Result<Action, Error> {
///     finalizer
///         .run(shop, |step| async move {
///             match step {
///                 Finalizing::Apply(shop) => println!("create the resources of {}", shop["metadata"]["name"]),
///                 Finalizing::Cleanup(shop) => println!("delete the resources of {}", shop["metadata"]["name"]),
///             }
///             Ok(Action::await_change())
///         })
///         .await
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Finalizer<T> {
    name: String,
    objects: ResourceClient<T>,
}

/// The step to run for an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finalizing<T> {
    /// The object is live and has the finalizer.
    Apply(Arc<T>),
    /// The object is being deleted and waits for this cleanup. The step may run more than once, so it must
    /// tolerate resources that are already gone.
    Cleanup(Arc<T>),
}

/// The metadata that decides which step to run.
#[derive(Debug, Clone)]
struct Metadata {
    name: String,
    namespace: String,
    uid: Value,
    is_terminating: bool,
    finalizers: Vec<Value>,
}

/// The result of adding or removing the finalizer.
enum Changed {
    /// The list was written; this is the resulting object.
    Updated(Value),
    /// The list already was as wanted; this is the current object.
    Unchanged(Value),
    /// The object is gone, replaced, or terminating without this finalizer (`finalizer.Z3`).
    Gone,
}

impl<T: Serialize + DeserializeOwned> Finalizer<T> {
    /// Creates a finalizer with a qualified name, such as `example.com/cleanup`. `objects` is a client for all
    /// namespaces.
    pub fn new(name: &str, objects: &ResourceClient<T>) -> Self {
        Self { name: name.to_owned(), objects: objects.clone() }
    }

    /// Runs the step that is due for an object; see [`Finalizing`]. If the future is dropped, the next call
    /// resumes where this one stopped.
    ///
    /// # Errors
    /// Returns the error of `act`, which leaves the finalizer on the object, or the error of updating the
    /// list of finalizers.
    pub async fn run<F>(&self, object: Arc<T>, act: impl FnOnce(Finalizing<T>) -> F) -> Result<Action, Error>
    where
        F: Future<Output = Result<Action, Error>>,
    {
        let act = |step| Box::pin(act(step)); // the caller's future may be large
        let cached = Metadata::of(&serde_json::to_value(&*object)?);
        match (cached.is_terminating, cached.has(&self.name)) {
            (false, true) => act(Finalizing::Apply(object)).await,
            (true, false) => Ok(Action::await_change()), // `finalizer.Z3`
            (false, false) => match self.change(cached, true).await? {
                Changed::Updated(object) | Changed::Unchanged(object) => {
                    act(Finalizing::Apply(Arc::new(serde_json::from_value(object)?))).await // `finalizer.Z1`
                }
                Changed::Gone => Ok(Action::await_change()), // the cache will catch up
            },
            (true, true) => {
                let action = act(Finalizing::Cleanup(object)).await?;
                self.change(cached, false).await?; // `finalizer.Z2`
                Ok(action)
            }
        }
    }

    /// Adds or removes the finalizer, first based on the cached object, then on the server's.
    async fn change(&self, cached: Metadata, wanted: bool) -> Result<Changed, RequestError> {
        let objects = self.objects.cast::<Value>().namespace(&cached.namespace);
        let mut now = cached.clone();
        for attempt in 1.. {
            let patch = now.patch(&self.name, wanted);
            match objects.patch(&cached.name, PatchKind::Json, &patch, &Default::default()).await {
                Ok(object) => return Ok(Changed::Updated(object)),
                Err(error) if error.is_not_found() => return Ok(Changed::Gone),
                // The list has changed, or the cache has dropped some of its entries.
                Err(error) if is_outdated(&error) && attempt < TRIES => {}
                Err(error) => return Err(error),
            }
            let Some(object) = objects.get_opt(&cached.name).await? else { return Ok(Changed::Gone) };
            now = Metadata::of(&object);
            if now.uid != cached.uid || (wanted && now.is_terminating) {
                return Ok(Changed::Gone);
            }
            if now.has(&self.name) == wanted {
                return Ok(Changed::Unchanged(object));
            }
        }
        Ok(Changed::Gone) // unreachable: the last attempt returns
    }
}

impl Metadata {
    fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let text = |name: &str| metadata[name].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            namespace: text("namespace"),
            uid: metadata["uid"].clone(),
            is_terminating: !metadata["deletionTimestamp"].is_null(),
            finalizers: metadata["finalizers"].as_array().cloned().unwrap_or_default(),
        }
    }

    fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|other| other == finalizer)
    }

    /// Returns a JSON patch that fails if the list or the UID is no longer the cached one.
    fn patch(&self, finalizer: &str, wanted: bool) -> Value {
        let mut next = self.finalizers.clone();
        next.retain(|other| other != finalizer);
        if wanted {
            next.push(finalizer.into());
        }
        let path = "/metadata/finalizers";
        let current = if self.finalizers.is_empty() { Value::Null } else { self.finalizers.clone().into() };
        json!([
            {"op": "test", "path": "/metadata/uid", "value": self.uid},
            {"op": "test", "path": path, "value": current},
            {"op": "add", "path": path, "value": next},
        ])
    }
}

/// Returns whether the object no longer matches the patch's tests.
fn is_outdated(error: &RequestError) -> bool {
    error.is_conflict() || error.status().is_some_and(|status| status.code == 422)
}
