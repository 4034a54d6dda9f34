//! Workers: take keys off the queue and call the reconcile function.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::{Instant, timeout};
use watchkeeper_cache::Informer;
use watchkeeper_core::{ErrorChain, ObjectKey};
use watchkeeper_workqueue::{Item, WorkQueue};

use crate::expectations::Expectations;
use crate::metrics::Metrics;
use crate::outcome::is_terminal;
use crate::{Action, Error, Request};

/// The reconcile function of a controller, without its types.
pub(crate) type ReconcileFn = Box<dyn Fn(Request) -> BoxFuture<'static, Result<Action, Error>> + Send + Sync>;

/// State shared by all workers of a controller.
pub(crate) struct Work {
    pub(crate) name: String,
    pub(crate) queue: WorkQueue<ObjectKey>,
    pub(crate) primary: Informer,
    pub(crate) reconcile: ReconcileFn,
    pub(crate) timeout: Option<Duration>,
    pub(crate) expectations: Expectations,
    pub(crate) metrics: Option<Metrics>,
}

/// The outcome of one key.
enum Outcome {
    Succeeded(Action),
    Failed(Error),
    Panicked,
    TimedOut(Duration),
    /// The function was not called: the cache has not observed an earlier write.
    Stale(Duration),
}

/// Time limit for the cache to observe earlier writes.
const CACHE_TIMEOUT: Duration = Duration::from_secs(30);

impl Work {
    /// Reconciles one key after another until the queue is shut down.
    pub(crate) async fn run(self: Arc<Self>) {
        while let Some(item) = self.queue.get().await {
            let started = Instant::now();
            if let Some(metrics) = &self.metrics {
                metrics.start();
            }
            let outcome = self.call(&item).await;
            let result = self.settle(item, outcome);
            if let Some(metrics) = &self.metrics {
                metrics.finish(started.elapsed(), result);
            }
        }
    }

    async fn call(&self, item: &Item<ObjectKey>) -> Outcome {
        let key: &ObjectKey = item.key();
        if timeout(CACHE_TIMEOUT, self.expectations.fulfilled(key)).await.is_err() {
            return Outcome::Stale(CACHE_TIMEOUT);
        }
        let request = Request {
            key: key.clone(),
            failures: item.num_requeues(),
            primary: self.primary.clone(),
            expectations: self.expectations.clone(),
        };
        let called = async { (self.reconcile)(request).await };
        let called = AssertUnwindSafe(self.expectations.track(key, called)).catch_unwind();
        let outcome = match self.timeout {
            None => called.await,
            Some(limit) => match timeout(limit, called).await {
                Ok(outcome) => outcome,
                Err(_) => return Outcome::TimedOut(limit),
            },
        };
        match outcome {
            Ok(Ok(action)) => Outcome::Succeeded(action),
            Ok(Err(error)) => Outcome::Failed(error),
            Err(_panic) => Outcome::Panicked, // the panic hook has printed the message
        }
    }

    /// Requeues the key if needed (`controller.C4`), and returns the `result` label of the metrics.
    fn settle(&self, item: Item<ObjectKey>, outcome: Outcome) -> &'static str {
        let (name, key) = (&self.name, item.key().clone());
        match outcome {
            Outcome::Succeeded(Action { requeue_after: None }) => {
                item.forget();
                "success"
            }
            Outcome::Succeeded(Action { requeue_after: Some(delay) }) => {
                item.requeue_after(delay);
                "requeue_after"
            }
            Outcome::Failed(error) if is_terminal(&*error) => {
                tracing::error!(controller = name, %key, error = %ErrorChain(&*error), "reconcile failed with a terminal error; not retrying");
                item.forget();
                "terminal_error"
            }
            Outcome::Failed(error) => {
                tracing::warn!(controller = name, %key, error = %ErrorChain(&*error), "reconcile failed; retrying with backoff");
                item.retry();
                "error"
            }
            Outcome::Panicked => {
                tracing::error!(controller = name, %key, "reconcile panicked; retrying with backoff");
                item.retry();
                "panic"
            }
            Outcome::TimedOut(limit) => {
                tracing::warn!(controller = name, %key, ?limit, "reconcile timed out; retrying with backoff");
                item.retry();
                "timeout"
            }
            Outcome::Stale(limit) => {
                tracing::warn!(controller = name, %key, ?limit, "cache has not observed our write; retrying with backoff");
                item.retry();
                "stale"
            }
        }
    }
}
