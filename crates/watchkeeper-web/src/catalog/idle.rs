//! Idle: ends the informers that nobody reads any more.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{IDLE, Inner};

/// How often somebody looks for idle informers.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// The task that looks for idle informers.
#[derive(Debug, Default)]
pub(super) struct Sweeper {
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Sweeper {
    /// Begins, the first time.
    pub(super) fn start(&self, inner: &Arc<Inner>) {
        let (stop, inner) = (self.stop.clone(), Arc::downgrade(inner));
        let mut task = self.task.lock();
        if task.is_none() && !stop.is_cancelled() {
            *task = Some(tokio::spawn(async move {
                stop.run_until_cancelled(sweep(inner)).await;
            }));
        }
    }

    /// Ends, and returns when the task has.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = task.await; // it has ended, in whatever way
        }
    }
}

/// Whoever holds the last catalog goes, and with him the task.
impl Drop for Sweeper {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn sweep(inner: Weak<Inner>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(inner) = inner.upgrade() else { return };
        while inner.end_one_idle(IDLE).await {}
    }
}
