//! Workers: those who look at keys.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::{Instant, timeout};
use watchkeeper_core::ObjectKey;
use watchkeeper_workqueue::{Item, WorkQueue};

use crate::metrics::Metrics;
use crate::written::Written;
use crate::{Action, Failure, Reconcile, Request};

/// What all workers of a controller share.
pub(crate) struct Work<R> {
    pub(crate) name: String,
    pub(crate) queue: WorkQueue<ObjectKey>,
    pub(crate) reconcile: R,
    pub(crate) timeout: Option<Duration>,
    pub(crate) written: Written,
    pub(crate) metrics: Option<Metrics>,
}

/// What became of a call.
enum Ended {
    Well(Action),
    Failed(Failure),
    Panicked,
    TooLate(Duration),
    /// It was not called: the cache has not seen what was written before.
    Stale(Duration),
}

/// How long the cache may take to see what was written.
const PATIENCE: Duration = Duration::from_secs(30);

impl<R: Reconcile> Work<R> {
    /// Looks at one key after the other, until the queue ends.
    pub(crate) async fn run(self: Arc<Self>) {
        while let Some(item) = self.queue.get().await {
            let begun = Instant::now();
            if let Some(metrics) = &self.metrics {
                metrics.begun();
            }
            let ended = self.look_at(&item).await;
            let result = self.settle(item, ended);
            if let Some(metrics) = &self.metrics {
                metrics.ended(begun.elapsed(), result);
            }
        }
    }

    async fn look_at(&self, item: &Item<ObjectKey>) -> Ended {
        let key: &ObjectKey = item.key();
        if timeout(PATIENCE, self.written.seen(key)).await.is_err() {
            return Ended::Stale(PATIENCE);
        }
        let request = Request { key: key.clone(), failures: item.failures(), written: self.written.clone() };
        let called = async { self.reconcile.reconcile(request).await };
        let called = AssertUnwindSafe(called).catch_unwind();
        let outcome = match self.timeout {
            None => called.await,
            Some(limit) => match timeout(limit, called).await {
                Ok(outcome) => outcome,
                Err(_) => return Ended::TooLate(limit),
            },
        };
        match outcome {
            Ok(Ok(action)) => Ended::Well(action),
            Ok(Err(failure)) => Ended::Failed(failure),
            Err(_panic) => Ended::Panicked, // its words were printed by whoever hooks panics
        }
    }

    /// Queues the key again if it has to be (C4). The word for what has happened is returned.
    fn settle(&self, item: Item<ObjectKey>, ended: Ended) -> &'static str {
        let (name, key) = (&self.name, item.key().clone());
        match ended {
            Ended::Well(Action::Done) => {
                item.forget();
                "success"
            }
            Ended::Well(Action::After(delay)) => {
                item.again_after(delay);
                "requeue_after"
            }
            Ended::Failed(failure) if failure.is_terminal() => {
                tracing::error!(controller = name, %key, error = %failure, "failed, and is not tried again");
                item.forget();
                "terminal_error"
            }
            Ended::Failed(failure) => {
                tracing::warn!(controller = name, %key, error = %failure, "failed, and is tried again");
                item.retry();
                "error"
            }
            Ended::Panicked => {
                tracing::error!(controller = name, %key, "panicked, and is tried again");
                item.retry();
                "panic"
            }
            Ended::TooLate(limit) => {
                tracing::warn!(controller = name, %key, ?limit, "took too long, and is tried again");
                item.retry();
                "timeout"
            }
            Ended::Stale(limit) => {
                tracing::warn!(controller = name, %key, ?limit, "the cache does not see what was written, and is waited for again");
                item.retry();
                "stale"
            }
        }
    }
}
