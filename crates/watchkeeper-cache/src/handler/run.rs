//! Handler: a function that is called for every change.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use watchkeeper_core::{Object, ObjectKey};

use super::Subscription;
use crate::delta::Delta;

/// What a handler hears of.
type Change = Delta<Arc<Object>>;

/// A handler has panicked (H2).
#[derive(Debug)]
pub struct HandlerPanic {
    /// Whose change it was handling.
    pub key: ObjectKey,
    /// What it said.
    pub message: String,
}

/// A function that is called for every change, one after the other, in a task of its own.
///
/// It is registered until it is [removed](Self::remove) or its informer ends, as a handler of client-go's
/// `AddEventHandler`: dropping this value detaches it, as dropping a tokio `JoinHandle` does.
#[derive(Debug)]
pub struct Handler {
    task: JoinHandle<()>,
    caught_up: watch::Receiver<bool>,
}

impl Handler {
    /// Calls a function for every change. Panics are logged.
    pub fn start(subscription: Subscription, mut handle: impl FnMut(Change) + Send + 'static) -> Self {
        Self::start_reporting(
            subscription,
            move |change| {
                handle(change);
                std::future::ready(())
            },
            log,
        )
    }

    /// Calls an async function for every change, and awaits it before the next. Panics are logged.
    pub fn start_async<R>(
        subscription: Subscription,
        handle: impl FnMut(Change) -> R + Send + 'static,
    ) -> Self
    where
        R: Future<Output = ()> + Send,
    {
        Self::start_reporting(subscription, handle, log)
    }

    /// Calls an async function for every change, and another one for every panic.
    pub fn start_reporting<R>(
        mut subscription: Subscription,
        mut handle: impl FnMut(Change) -> R + Send + 'static,
        report: impl Fn(HandlerPanic) + Send + 'static,
    ) -> Self
    where
        R: Future<Output = ()> + Send,
    {
        let caught_up = subscription.caught_up();
        let task = tokio::spawn(async move {
            while let Some(change) = subscription.next().await {
                let key = change.newest().metadata.key().clone();
                let called = async { handle(change).await };
                if let Err(panic) = AssertUnwindSafe(called).catch_unwind().await {
                    subscription.has_panicked();
                    report(HandlerPanic { key, message: message(&*panic) });
                }
            }
        });
        Self { task, caught_up }
    }

    /// Waits until all that was there at the beginning has been handled. False if it ended before.
    pub async fn caught_up(&mut self) -> bool {
        self.caught_up.wait_for(|caught_up| *caught_up).await.is_ok()
    }

    /// Removes it, without waiting for a call that is under way: that call is dropped at its next await point.
    pub fn remove(self) {
        self.task.abort();
    }

    /// Removes it, and waits until a call that is under way was dropped.
    pub async fn stop(self) {
        self.task.abort();
        let _ = self.task.await; // an error: the task was aborted
    }

    /// Waits until there are no more changes: the informer has ended, or the handler was removed.
    pub async fn finished(self) {
        let _ = self.task.await;
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as everybody who is told")]
fn log(panic: HandlerPanic) {
    tracing::error!(key = %panic.key, panic = panic.message, "a handler has panicked");
}

/// What somebody said who has panicked.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic without a text".to_owned(),
    }
}
