//! Life: the task of an informer, which runs for as long as somebody reads or listens.

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::lock::Mutex;

/// The running task of an informer. The informer and every [`Store`](crate::Store) handle share one; the task ends with
/// the last of them, or when the informer is stopped (I3).
#[derive(Debug)]
pub(super) struct Life {
    task: Mutex<Option<JoinHandle<()>>>,
    stop: watch::Sender<bool>,
}

impl Life {
    pub(super) fn new() -> Self {
        Self { task: Mutex::default(), stop: watch::Sender::new(false) }
    }

    /// Returns a future that is ready once [`stop`](Self::stop) was called. It does not keep the informer alive.
    pub(super) fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stop = self.stop.subscribe();
        async move {
            // An error means that nobody is left who could stop it, which ends it just the same.
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }

    /// Keeps the task that `spawn` starts. Nobody can join before it is kept.
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
