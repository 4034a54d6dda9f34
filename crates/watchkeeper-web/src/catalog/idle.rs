//! Stops idle informers.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{IDLE_TIMEOUT, Inner};

/// Interval of checks for idle informers.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// The task that stops idle informers.
#[derive(Debug, Default)]
pub(super) struct Sweeper {
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Sweeper {
    /// Starts the task, the first time.
    pub(super) fn start(&self, inner: &Arc<Inner>) {
        let (stop, inner) = (self.stop.clone(), Arc::downgrade(inner));
        let mut task = self.task.lock();
        if task.is_none() && !stop.is_cancelled() {
            *task = Some(tokio::spawn(async move {
                stop.run_until_cancelled(sweep(inner)).await;
            }));
        }
    }

    /// Stops the task, and returns when it has ended.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = task.await; // ended, whether by cancellation or panic
        }
    }
}

/// Stops the task with the last clone of the catalog.
impl Drop for Sweeper {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn sweep(inner: Weak<Inner>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let Some(inner) = inner.upgrade() else { return };
        while inner.stop_one_idle(IDLE_TIMEOUT).await {}
    }
}
