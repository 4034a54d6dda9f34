//! The controller.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use watchkeeper_cache::Informer;
use watchkeeper_cache::handler::Resync;
use watchkeeper_cache::store::{UnknownIndex, by_field};
use watchkeeper_core::{Object, ObjectKey};
use watchkeeper_metrics::{RegisterError, Registry};
use watchkeeper_wire::FieldPath;
use watchkeeper_workqueue::{Builder, RateLimiter, WorkQueue};

use crate::Reconcile;
use crate::mapping;
use crate::metrics::Metrics;
use crate::trigger::Trigger;
use crate::worker::Work;
use crate::written::Written;

/// How long what is under way at the end may take.
const GRACE: Duration = Duration::from_secs(30);

/// Calls a function for each object of a kind whenever something about it may be out of order. Nothing runs before
/// [`run`](Self::run).
pub struct Controller {
    name: String,
    primary: Informer,
    triggers: Vec<Trigger>,
    told: Vec<mpsc::Receiver<ObjectKey>>,
    workers: usize,
    timeout: Option<Duration>,
    grace: Duration,
    queue: Builder<ObjectKey>,
    metrics: Option<Metrics>,
}

impl Controller {
    /// Of the objects of an informer. The name is that of its metrics and in its messages.
    pub fn new(name: &str, primary: &Informer) -> Self {
        Self {
            name: name.to_owned(),
            primary: primary.clone(),
            triggers: vec![Trigger::new(primary, mapping::itself)],
            told: Vec::new(),
            workers: 1,
            timeout: None,
            grace: GRACE,
            queue: WorkQueue::builder(),
            metrics: None,
        }
    }

    /// Only updates of primary objects that matter; see [`predicate`](crate::predicate). It is not asked of those
    /// that come, go, or are asked to go.
    #[must_use]
    pub fn when(mut self, matters: impl Fn(&Object, &Object) -> bool + Send + Sync + 'static) -> Self {
        self.triggers[0].matters = Some(Box::new(matters));
        self
    }

    /// Every primary object is looked at again this often, changed or not.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.triggers[0].options.resync = Resync::Every(period);
        self
    }

    /// Also when something changes that a primary object manages, by the owner reference of its controller.
    #[must_use]
    pub fn owns(self, informer: &Informer) -> Self {
        let kind = self.primary.kind().name().clone();
        self.watches(informer, move |object| mapping::controller_of(&kind, object))
    }

    /// Also when something changes that has a primary object among its owners, whoever manages it.
    #[must_use]
    pub fn owns_with_others(self, informer: &Informer) -> Self {
        let kind = self.primary.kind().name().clone();
        self.watches(informer, move |object| mapping::owners_of(&kind, object))
    }

    /// Also when something changes that names a primary object in a label: one in its namespace, or in none if it is
    /// in none.
    #[must_use]
    pub fn watches_by_label(self, informer: &Informer, label: &str) -> Self {
        let label = label.to_owned();
        self.watches(informer, move |object| mapping::labelled(&label, object))
    }

    /// Also when something changes that primary objects refer to by its name in a field, as by
    /// `spec.configMapRef.name`, in the namespace of both.
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
        // One that is there already is the same: the name says all of it.
        let _ = self.primary.add_index(&index, by_field(self.primary.kind().clone(), path));
        self.watches_by_known_index(informer, &index)
    }

    /// Also when something changes that primary objects refer to: those that have its name in an index of their
    /// informer, in the namespace of both.
    ///
    /// # Errors
    /// If there is no such index.
    pub fn watches_by_index(self, informer: &Informer, index: &str) -> Result<Self, UnknownIndex> {
        self.primary.store().snapshot().index_values(index).map(drop)?;
        Ok(self.watches_by_known_index(informer, index))
    }

    fn watches_by_known_index(self, informer: &Informer, index: &str) -> Self {
        let (store, index) = (self.primary.store().clone(), index.to_owned());
        self.watches(informer, move |object| mapping::referring(&store, &index, object))
    }

    /// Also when something else changes: whose keys it is about is asked of the object as it is and as it was.
    #[must_use]
    pub fn watches(
        mut self,
        informer: &Informer,
        keys: impl Fn(&Object) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self {
        self.triggers.push(Trigger::new(informer, keys));
        self
    }

    /// Also when somebody says so who knows of it otherwise than by an informer: a timer, a webhook, another part
    /// of the program. Keys are taken as they come, so that the channel is full only while the controller does not
    /// run; all senders may be dropped.
    #[must_use]
    pub fn told(mut self, keys: mpsc::Receiver<ObjectKey>) -> Self {
        self.told.push(keys);
        self
    }

    /// How many keys are looked at at once; 1 unless said, and never less.
    #[must_use]
    pub fn concurrency(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// How long a call may take; as long as it likes unless said.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long calls that are under way at the end may take before they are dropped; 30 seconds unless said.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long what has failed waits.
    #[must_use]
    pub fn limiter(mut self, limiter: impl RateLimiter<ObjectKey> + 'static) -> Self {
        self.queue = self.queue.limiter(limiter);
        self
    }

    /// Namespaces take turns, so that one with very many objects does not hold up the others.
    #[must_use]
    pub fn fair(mut self) -> Self {
        self.queue = self.queue.fair_by(|key| key.namespace().map(str::to_owned));
        self
    }

    /// Counts, for the queue and for the calls.
    ///
    /// # Errors
    /// If one of the names means something else in this registry.
    pub fn metrics(mut self, registry: &Registry) -> Result<Self, RegisterError> {
        self.queue = self.queue.metrics(registry, &self.name)?;
        self.metrics = Some(Metrics::new(registry, &self.name)?);
        Ok(self)
    }

    /// Counts there if it does not count elsewhere.
    pub(crate) fn counted(self, registry: &Registry) -> Result<Self, RegisterError> {
        match self.metrics {
            None => self.metrics(registry),
            Some(_) => Ok(self),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// That of its primary objects, and then those of others.
    pub(crate) fn informers(&self) -> impl Iterator<Item = &Informer> {
        self.triggers.iter().map(|trigger| &trigger.informer)
    }

    /// Runs until `stop`, or until the informer of its primary objects ends. Then changes are not heard any more,
    /// keys are not handed out, and what is under way is waited for, in this order. The informers have to be
    /// started by somebody. Dropped half-way, calls are dropped where they wait.
    pub async fn run(self, reconcile: impl Reconcile, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        let synced = async {
            for trigger in &self.triggers {
                trigger.informer.wait_until_ready().await;
            }
        };
        tokio::select! {
            biased;
            () = &mut stop => return,
            () = synced => {}
        }

        let queue = self.queue.build();
        let mut triggers = JoinSet::new();
        for trigger in self.triggers {
            triggers.spawn(trigger.run(queue.clone()));
        }
        for mut keys in self.told {
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
            reconcile,
            timeout: self.timeout,
            written: Written::default(),
            metrics: self.metrics,
        });
        let mut workers = JoinSet::new();
        for _ in 0..self.workers {
            workers.spawn(work.clone().run());
        }

        tokio::select! {
            () = &mut stop => {}
            _ = self.primary.exited() => {}
        }
        triggers.shutdown().await;
        queue.abandon();
        let finished = async { while workers.join_next().await.is_some() {} };
        if tokio::time::timeout(self.grace, finished).await.is_err() {
            tracing::warn!(controller = work.name, grace = ?self.grace, "calls that took too long at the end were dropped");
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
