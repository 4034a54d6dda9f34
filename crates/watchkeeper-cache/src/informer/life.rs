//! Life: the task of an informer and its lifetime.

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::lock::Mutex;

/// The task of an informer. The informer and every [`Store`](crate::Store) handle share it; the task ends when the last
/// of them is dropped or when the informer is stopped (`informer.I3`).
#[derive(Debug)]
pub(super) struct Life {
    task: Mutex<Option<JoinHandle<()>>>,
    stop: watch::Sender<bool>,
}

impl Life {
    pub(super) fn new() -> Self {
        Self { task: Mutex::default(), stop: watch::Sender::new(false) }
    }

    /// Returns a future that completes when [`stop`](Self::stop) is called. It does not keep the informer alive.
    pub(super) fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stop = self.stop.subscribe();
        async move {
            // An error means that every handle was dropped, which stops the informer as well.
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }

    /// Spawns the task. The lock is held meanwhile, so that `join` cannot miss it.
    pub(super) fn run(&self, spawn: impl FnOnce() -> JoinHandle<()>) {
        let mut task = self.task.lock();
        *task = Some(spawn());
    }

    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until the task has ended.
    pub(super) async fn join(&self) {
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = task.await; // the reason is published by the task itself
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
    }
}
