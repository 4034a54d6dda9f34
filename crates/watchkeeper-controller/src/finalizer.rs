//! Finalizers: what has to be done before an object may go.
//!
//! - Z1: nothing is applied before the finalizer is on the object, and so nothing is left behind when it goes.
//! - Z2: the finalizer is taken off only after the cleanup has succeeded, and then no other with it: whoever else
//!   changes the list at the same time, nothing of his is lost.
//! - Z3: nothing is done for an object that is gone, that is another of the same name, or that goes and waits for
//!   others alone.

use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use watchkeeper_cache::Store;
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::rest::{PatchKind, RequestError};

use crate::{Action, Failure, Request};

/// How often a list that changes all the time is tried to be changed.
const TRIES: u32 = 10;

/// A finalizer of objects of one kind.
///
/// ```no_run
/// # async fn example(
/// #     client: watchkeeper_client::Client, informer: watchkeeper_cache::Informer,
/// #     request: watchkeeper_controller::Request,
/// # ) -> Result<watchkeeper_controller::Action, watchkeeper_controller::Failure> {
/// use serde_json::Value;
/// use watchkeeper_cache::Keep;
/// use watchkeeper_client::resource::ResourceClient;
/// use watchkeeper_controller::{Action, Finalizer, Finalizing};
///
/// let shops: ResourceClient<Value> = client.resource("shops", informer.kind());
/// let finalizer = Finalizer::new("example.com/cleanup", &shops, informer.store());
///
/// // For each request:
/// let Ok(Some(shop)) = informer.reader::<Value>(Keep::Encoded).get(request.key()) else {
///     return Ok(Action::Done);
/// };
/// finalizer.run(&request, shop, |shop| async move {
///     match shop {
///         Finalizing::Apply(shop) => println!("make what {} wants", shop["metadata"]["name"]),
///         Finalizing::Cleanup(shop) => println!("remove what {} had", shop["metadata"]["name"]),
///     }
///     Ok(Action::Done)
/// })
/// .await
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Finalizer<T> {
    name: String,
    objects: ResourceClient<T>,
    store: Store,
}

/// What is to be done for an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finalizing<T> {
    /// It is wanted, and has the finalizer.
    Apply(Arc<T>),
    /// It goes, and waits for this. What is done here may be done again: it must not mind what is gone already.
    Cleanup(Arc<T>),
}

/// What counts of an object.
#[derive(Debug, Clone)]
struct Known {
    name: String,
    namespace: String,
    uid: Value,
    version: String,
    is_going: bool,
    finalizers: Vec<Value>,
}

/// What became of a change of the list.
enum Changed {
    /// It was written, and this is the object.
    Written(Value),
    /// There is nothing to write: the object has it so already.
    Already(Value),
    /// The object is gone, or goes although the finalizer is not on it (Z3).
    Beyond,
}

impl<T: Serialize + DeserializeOwned> Finalizer<T> {
    /// Under this name, as `example.com/cleanup`, on these objects; the store is that of their informer, by which
    /// the controller sees what was written here.
    pub fn new(name: &str, objects: &ResourceClient<T>, store: &Store) -> Self {
        Self { name: name.to_owned(), objects: objects.clone(), store: store.clone() }
    }

    /// Does what is to be done for an object: see [`Finalizing`]. Dropped half-way, it goes on where it was when it
    /// is called again.
    ///
    /// # Errors
    /// Those of `act`, after which the finalizer stays on the object; or the list of finalizers could not be changed.
    pub async fn run<F>(
        &self,
        request: &Request,
        object: Arc<T>,
        act: impl FnOnce(Finalizing<T>) -> F,
    ) -> Result<Action, Failure>
    where
        F: Future<Output = Result<Action, Failure>>,
    {
        let act = |step| Box::pin(act(step)); // a future of the caller's, of any size
        let known = Known::of(&serde_json::to_value(&*object)?);
        match (known.is_going, known.has(&self.name)) {
            (false, true) => act(Finalizing::Apply(object)).await,
            (true, false) => Ok(Action::Done), // Z3
            (false, false) => match self.change(request, known, true).await? {
                Changed::Written(object) | Changed::Already(object) => {
                    act(Finalizing::Apply(Arc::new(serde_json::from_value(object)?))).await // Z1
                }
                Changed::Beyond => Ok(Action::Done), // the cache will hear of it
            },
            (true, true) => {
                let action = act(Finalizing::Cleanup(object)).await?;
                self.change(request, known, false).await?; // Z2
                Ok(action)
            }
        }
    }

    /// Puts the finalizer on an object, or takes it off, as it is known and then as it is.
    async fn change(&self, request: &Request, known: Known, wanted: bool) -> Result<Changed, RequestError> {
        let objects = self.objects.cast::<Value>().namespace(&known.namespace);
        let mut now = known.clone();
        for attempt in 1.. {
            let patch = now.patch(&self.name, wanted);
            match objects.patch(&known.name, PatchKind::Json, &patch, &Default::default()).await {
                Ok(object) => {
                    request.wrote(&self.store, Known::of(&object).version.as_str());
                    return Ok(Changed::Written(object));
                }
                Err(error) if error.is_not_found() => return Ok(Changed::Beyond),
                // The list is not what it was known to be, or what the cache shows is not all of it.
                Err(error) if is_outdated(&error) && attempt < TRIES => {}
                Err(error) => return Err(error),
            }
            let Some(object) = objects.get_opt(&known.name).await? else { return Ok(Changed::Beyond) };
            now = Known::of(&object);
            if now.uid != known.uid || (wanted && now.is_going) {
                return Ok(Changed::Beyond);
            }
            if now.has(&self.name) == wanted {
                return Ok(Changed::Already(object));
            }
        }
        Ok(Changed::Beyond) // cannot be: the last attempt returns
    }
}

impl Known {
    fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let text = |name: &str| metadata[name].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            namespace: text("namespace"),
            uid: metadata["uid"].clone(),
            version: text("resourceVersion"),
            is_going: !metadata["deletionTimestamp"].is_null(),
            finalizers: metadata["finalizers"].as_array().cloned().unwrap_or_default(),
        }
    }

    fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|other| other == finalizer)
    }

    /// A change of the list that is refused if the list is not this one, or the object another.
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

/// Whether what was to be changed is not what it was.
fn is_outdated(error: &RequestError) -> bool {
    error.is_conflict() || error.status().is_some_and(|status| status.code == 422)
}
