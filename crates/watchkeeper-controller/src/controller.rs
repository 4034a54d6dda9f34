//! Controller: watches objects and runs the workers that reconcile them.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::Informer;
use watchkeeper_cache::handler::Resync;
use watchkeeper_cache::store::{UnknownIndex, by_field};
use watchkeeper_core::{Object, ObjectKey};
use watchkeeper_metrics::{RegisterError, Registry};
use watchkeeper_wire::FieldPath;
use watchkeeper_workqueue::{Builder, RateLimiter, WorkQueue};

use crate::expectations::Expectations;
use crate::mapping;
use crate::metrics::Metrics;
use crate::trigger::Trigger;
use crate::worker::{ReconcileFn, Work};
use crate::{Action, Error, FromRequest};

/// Default time for running reconcile calls to finish after `stop`.
const GRACE: Duration = Duration::from_secs(30);

/// A reconcile loop for the objects of one kind: calls a function for each primary object whenever that object, or
/// another one related to it, changes. Nothing runs before [`run`](Self::run).
///
/// # Guarantees
/// - Concurrency: calls run on up to [`concurrency`](Self::concurrency) workers, never two at once for the
///   same key.
/// - Ordering: keys are processed first in, first out; changes come before initial objects and resyncs.
///   Several changes of one key that arrive before its call starts cause a single call.
/// - Failure: a call that returns an error, panics or exceeds [`timeout`](Self::timeout) is retried with
///   backoff ([`limiter`](Self::limiter)).
pub struct Controller {
    name: String,
    primary: Informer,
    triggers: Vec<Trigger>,
    channels: Vec<mpsc::Receiver<ObjectKey>>,
    workers: usize,
    timeout: Option<Duration>,
    grace: Duration,
    tracks_writes: bool,
    queue: Builder<ObjectKey>,
    metrics: Option<Metrics>,
}

impl Controller {
    /// Creates a controller for the objects of an informer. `name` labels its metrics and log lines.
    pub fn new(name: &str, primary: &Informer) -> Self {
        Self {
            name: name.to_owned(),
            primary: primary.clone(),
            triggers: vec![Trigger::new(primary, mapping::self_key)],
            channels: Vec::new(),
            workers: 1,
            timeout: None,
            grace: GRACE,
            tracks_writes: true,
            queue: WorkQueue::builder(),
            metrics: None,
        }
    }

    /// Ignores updates of primary objects that `predicate` rejects; see [`predicate`](crate::predicate).
    /// Creation, deletion and the start of a deletion always pass.
    #[must_use]
    pub fn with_predicate(
        mut self,
        predicate: impl Fn(&Object, &Object) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.triggers[0].predicate = Some(Box::new(predicate));
        self
    }

    /// Reconciles every primary object once per `period`, changed or not.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.triggers[0].options.resync = Resync::Every(period);
        self
    }

    /// Reconciles the controlling owner (the owner reference with `controller: true`) of each object of
    /// `informer` that changes. For all owners, use [`watches`](Self::watches) with
    /// [`mapping::all_owners`].
    #[must_use]
    pub fn owns(self, informer: &Informer) -> Self {
        let kind = self.primary.kind().name().clone();
        self.watches(informer, move |object| mapping::controlling_owner(&kind, object))
    }

    /// Reconciles the primary object named by a label of each object of `informer` that changes. It is looked
    /// up in that object's namespace, or at cluster scope if that object is cluster-scoped.
    #[must_use]
    pub fn watches_by_label(self, informer: &Informer, label: &str) -> Self {
        let label = label.to_owned();
        self.watches(informer, move |object| mapping::named_by_label(&label, object))
    }

    /// Reconciles the primary objects whose field at `path`, such as `spec.configMapRef.name`, names an
    /// object of `informer` that changes, in the same namespace; in any namespace if either is cluster-scoped.
    ///
    /// ```no_run
    /// # fn example(factory: &watchkeeper_cache::InformerFactory) -> Result<(), Box<dyn std::error::Error>> {
    /// use watchkeeper_controller::Controller;
    /// use watchkeeper_core::Collection;
    ///
    /// let shops = factory.informer(&Collection::new("example.com", "v1", "shops", "Shop"));
    /// let maps = factory.informer(&Collection::CONFIG_MAPS);
    /// let controller =
    ///     Controller::new("shops", &shops).watches_by_field(&maps, "spec.configMapRef.name".parse()?);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn watches_by_field(self, informer: &Informer, path: FieldPath) -> Self {
        let index = format!("refers by {path}");
        // An index of that name already exists only if it indexes the same path.
        let _ = self.primary.add_index(&index, by_field(self.primary.kind().clone(), path));
        self.watches_by_known_index(informer, &index)
    }

    /// Reconciles the primary objects listed in their informer's `index` under the name of an object of
    /// `informer` that changes, in the same namespace; in any namespace if either is cluster-scoped.
    ///
    /// # Errors
    /// Returns an error if the primary informer has no such index.
    pub fn watches_by_index(self, informer: &Informer, index: &str) -> Result<Self, UnknownIndex> {
        self.primary.store().snapshot().index_values(index).map(drop)?;
        Ok(self.watches_by_known_index(informer, index))
    }

    fn watches_by_known_index(self, informer: &Informer, index: &str) -> Self {
        let (store, index) = (self.primary.store().clone(), index.to_owned());
        self.watches(informer, move |object| mapping::referring(&store, &index, object))
    }

    /// Reconciles the keys that `keys` returns for each object of `informer` that changes. For an update it
    /// is called with both the old and the new object.
    #[must_use]
    pub fn watches(
        mut self,
        informer: &Informer,
        keys: impl Fn(&Object) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self {
        self.triggers.push(Trigger::new(informer, keys));
        self
    }

    /// Reconciles the keys received from a channel: from a timer, a webhook, or another part of the program.
    /// Keys are moved to the work queue as they arrive, so the channel fills up only while the controller is
    /// not running. Dropping all senders is fine.
    #[must_use]
    pub fn reconcile_on(mut self, keys: mpsc::Receiver<ObjectKey>) -> Self {
        self.channels.push(keys);
        self
    }

    /// Sets the number of workers. Defaults to 1, which is also the minimum.
    #[must_use]
    pub fn concurrency(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// Sets the maximum duration of a reconcile call. Unlimited by default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how long running calls may take to finish after `stop` before they are dropped. Defaults to 30
    /// seconds.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Does not wait for the cache to observe what earlier calls have written (`controller.C3`). For controllers that
    /// write objects of a kind they watch to another server than the one they watch.
    #[must_use]
    pub fn without_write_tracking(mut self) -> Self {
        self.tracks_writes = false;
        self
    }

    /// Sets the rate limiter that delays retries of failed keys.
    #[must_use]
    pub fn limiter(mut self, limiter: impl RateLimiter<ObjectKey> + 'static) -> Self {
        self.queue = self.queue.rate_limiter(limiter);
        self
    }

    /// Registers metrics for the work queue and the reconcile calls.
    ///
    /// # Errors
    /// Returns an error if a metric of the same name but another type is registered.
    pub fn metrics(mut self, registry: &Registry) -> Result<Self, RegisterError> {
        self.queue = self.queue.metrics(registry, &self.name)?;
        self.metrics = Some(Metrics::new(registry, &self.name)?);
        Ok(self)
    }

    /// Registers metrics unless the controller already has some.
    pub(crate) fn counted(self, registry: &Registry) -> Result<Self, RegisterError> {
        match self.metrics {
            None => self.metrics(registry),
            Some(_) => Ok(self),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the informer of the primary objects, then the other ones.
    pub(crate) fn informers(&self) -> impl Iterator<Item = &Informer> {
        self.triggers.iter().map(|trigger| &trigger.informer)
    }

    /// Calls `reconcile` with each primary object that may need work, and with the shared `context`.
    ///
    /// The first parameter of the function is an `Arc` of the object, or a [`Request`](crate::Request) to handle
    /// deleted objects too. The key is not reconciled again before the cache has observed the objects that the call has
    /// written.
    ///
    /// Runs until `stop` resolves or the informer of the primary objects ends. At shutdown it stops watching, stops
    /// handing out keys, and waits for running calls, in this order. Something else has to start the informers. Dropping
    /// the future drops running calls at their next await point.
    ///
    /// ```no_run
    /// # async fn example(shops: watchkeeper_cache::Informer) {
    /// use std::sync::Arc;
    ///
    /// use serde_json::Value;
    /// use watchkeeper_controller::{Action, Controller, Error};
    ///
    /// async fn reconcile(shop: Arc<Value>, _: Arc<()>) -> Result<Action, Error> {
    ///     println!("reconciling {}", shop["metadata"]["name"]);
    ///     Ok(Action::await_change())
    /// }
    ///
    /// Controller::new("shops", &shops).run(reconcile, Arc::new(()), std::future::pending()).await;
    /// # }
    /// ```
    pub async fn run<T, C, F, R>(self, reconcile: F, context: Arc<C>, stop: impl Future<Output = ()>)
    where
        T: FromRequest,
        C: Send + Sync + 'static,
        F: Fn(T, Arc<C>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Action, Error>> + Send + 'static,
    {
        let reconcile: ReconcileFn = Box::new(move |request| match T::from_request(request) {
            Ok(Some(target)) => Box::pin(reconcile(target, context.clone())),
            Ok(None) => Box::pin(std::future::ready(Ok(Action::await_change()))), // deleted
            Err(error) => Box::pin(std::future::ready(Err(error))),
        });
        let stopping = CancellationToken::new();
        let mut running = self.run_until(reconcile, stopping.clone());
        tokio::select! {
            biased;
            () = stop => stopping.cancel(),
            () = &mut running => return,
        }
        running.await;
    }

    /// Returns a boxed future that does not depend on the types of the reconcile function, so that this code is compiled
    /// once and not for each controller.
    fn run_until(self, reconcile: ReconcileFn, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(self.run_workers(reconcile, stop))
    }

    async fn run_workers(self, reconcile: ReconcileFn, stop: CancellationToken) {
        let ready = async {
            for trigger in &self.triggers {
                trigger.informer.wait_until_ready().await;
            }
        };
        if stop.run_until_cancelled(ready).await.is_none() {
            return;
        }

        let expectations = Expectations::new(self.informers().filter(|_| self.tracks_writes).cloned());
        let queue = self.queue.build();
        let mut triggers = JoinSet::new();
        for trigger in self.triggers {
            triggers.spawn(trigger.run(queue.clone()));
        }
        for mut keys in self.channels {
            let queue = queue.clone();
            triggers.spawn(async move {
                while let Some(key) = keys.recv().await {
                    queue.add(key);
                }
            });
        }
        let work = Arc::new(Work {
            name: self.name,
            queue: queue.clone(),
            primary: self.primary.clone(),
            reconcile,
            timeout: self.timeout,
            expectations,
            metrics: self.metrics,
        });
        let mut workers = JoinSet::new();
        for _ in 0..self.workers {
            workers.spawn(work.clone().run());
        }

        tokio::select! {
            () = stop.cancelled() => {}
            _ = self.primary.exited() => {}
        }
        triggers.shutdown().await;
        queue.shut_down_now();
        let finished = async { while workers.join_next().await.is_some() {} };
        if tokio::time::timeout(self.grace, finished).await.is_err() {
            tracing::warn!(controller = work.name, grace = ?self.grace, "reconcile calls did not finish within the grace period and were dropped");
        }
        workers.shutdown().await;
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}
