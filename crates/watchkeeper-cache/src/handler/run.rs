//! Handler: a task that calls a function for every change.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use watchkeeper_core::{Object, ObjectKey};

use super::Subscription;
use crate::delta::Delta;

type Change = Delta<Arc<Object>>;

/// A panic in a handler (`handler.H2`).
#[derive(Debug)]
pub struct HandlerPanic {
    /// The key of the object that was being handled.
    pub key: ObjectKey,
    /// The panic message.
    pub message: String,
}

/// A registered callback; client-go's `ResourceEventHandlerRegistration`.
///
/// # Ordering
/// The callback runs in its own task, one call at a time. It receives each existing object as an initial
/// [`Delta::Added`], and then the changes of each key in order. Changes that arrive while it is busy are coalesced
/// by key.
///
/// # Failure
/// A panic is caught, counted and reported, and the next change is handled. There are no retries: callbacks that can
/// fail put a key on a work queue, as with client-go.
///
/// # Lifetime
/// The callback stays registered until it is [removed](Self::remove) or its informer stops. Dropping this value does not
/// unregister it, as dropping a tokio `JoinHandle` does not abort the task.
///
/// ```no_run
/// # async fn example(pods: &watchkeeper_cache::Informer) {
/// use watchkeeper_cache::handler::Handler;
///
/// let mut handler = Handler::start(pods.subscribe(Default::default()), |change| println!("{change:?}"));
/// pods.start();
/// handler.caught_up().await; // has processed all pods of the first list
/// handler.remove();
/// # }
/// ```
#[derive(Debug)]
pub struct Handler {
    task: JoinHandle<()>,
    caught_up: watch::Receiver<bool>,
}

/// The return type of a handler function: nothing, or a boxed future that is awaited before the next change.
///
/// Implemented for `()` and for `Pin<Box<dyn Future>>`, so that one [`Handler::start`] serves both kinds of functions and
/// still infers their argument.
pub trait HandlerOutput: sealed::Sealed {
    /// Waits for the end of the call.
    #[doc(hidden)]
    fn finish(self) -> impl Future<Output = ()> + Send;
}

impl HandlerOutput for () {
    fn finish(self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

impl<F: Future<Output = ()> + Send + ?Sized> HandlerOutput for Pin<Box<F>> {
    fn finish(self) -> impl Future<Output = ()> + Send {
        self
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<F: ?Sized> Sealed for std::pin::Pin<Box<F>> {}
}

impl Handler {
    /// Spawns a task that calls a function for every change. Panics are logged, or reported to
    /// [`Subscription::on_panic`].
    ///
    /// An async function returns a boxed future, which is awaited before the next change:
    ///
    /// ```no_run
    /// # async fn save(_: &watchkeeper_core::ObjectKey) {}
    /// # async fn example(pods: &watchkeeper_cache::Informer) {
    /// use watchkeeper_cache::handler::Handler;
    ///
    /// Handler::start(pods.subscribe(Default::default()), |change| {
    ///     Box::pin(async move { save(change.newest().metadata.key()).await })
    /// });
    /// # }
    /// ```
    ///
    /// # Panics
    /// If called outside a tokio runtime.
    pub fn start<R: HandlerOutput>(
        mut subscription: Subscription,
        mut handle: impl FnMut(Change) -> R + Send + 'static,
    ) -> Self {
        let caught_up = subscription.caught_up();
        let task = tokio::spawn(async move {
            while let Some(change) = subscription.next().await {
                let key = change.newest().metadata.key().clone();
                let called = async { handle(change).finish().await };
                if let Err(panic) = AssertUnwindSafe(called).catch_unwind().await {
                    subscription.report_panic(HandlerPanic { key, message: message(&*panic) });
                }
            }
        });
        Self { task, caught_up }
    }

    /// Waits until all objects of the first list have been handled. Returns false if the handler ends before that.
    pub async fn caught_up(&mut self) -> bool {
        self.caught_up.wait_for(|caught_up| *caught_up).await.is_ok()
    }

    /// Unregisters the callback without waiting. A call in progress is cancelled at its next await point.
    pub fn remove(self) {
        self.task.abort();
    }

    /// Unregisters the callback, and waits until a call in progress is cancelled.
    pub async fn stop(self) {
        self.task.abort();
        let _ = self.task.await; // an error means that the task was aborted
    }

    /// Waits until the handler has ended: its informer has stopped and all pending changes are handled.
    pub async fn finished(self) {
        let _ = self.task.await;
    }
}

/// Returns the message of a panic payload.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "panic without a message".to_owned(),
    }
}
