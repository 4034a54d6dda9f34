//! The promises of a store, tested for each implementation.

mod behaviour;
mod bounds;
mod model;
mod stress;

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use futures_util::{FutureExt, StreamExt};
use watchkeeper_core::ObjectKey;

use super::{
    BoxWatch, CollectionId, DiskStore, Event, HistoryLimits, MemoryStore, Precondition, Revision, Store,
    Stored, Unversioned, WatchError, WatchQuery, WriteError,
};

/// A store under test.
trait Subject: Store + Sized + 'static {
    /// Creates an empty store.
    fn new(limits: HistoryLimits) -> Self;

    /// Returns the memory store that holds the history.
    fn memory(&self) -> &MemoryStore;

    /// Creates an empty store with default limits.
    fn fresh() -> Self {
        Self::new(HistoryLimits::default())
    }
}

impl Subject for MemoryStore {
    fn new(limits: HistoryLimits) -> Self {
        Self::new(limits)
    }

    fn memory(&self) -> &MemoryStore {
        self
    }
}

impl Subject for DiskStore {
    fn new(limits: HistoryLimits) -> Self {
        Self::on_fake_files(limits)
    }

    fn memory(&self) -> &MemoryStore {
        self.memory()
    }
}

/// Generates tests from functions that are generic over the store, one per implementation.
macro_rules! of_each_store {
    ($($(#[$attribute:meta])* async $name:ident),* $(,)?) => {
        mod in_memory {
            $($(#[$attribute])* async fn $name() { super::$name::<crate::MemoryStore>().await })*
        }
        mod on_disk {
            $($(#[$attribute])* async fn $name() { super::$name::<crate::DiskStore>().await })*
        }
    };
    ($($name:ident),* $(,)?) => {
        mod in_memory {
            $(#[test] fn $name() { super::$name::<crate::MemoryStore>() })*
        }
        mod on_disk {
            $(#[test] fn $name() { super::$name::<crate::DiskStore>() })*
        }
    };
}
use of_each_store;

/// The maximum wait for an expected result.
const PATIENCE: Duration = Duration::from_secs(60);

fn pods() -> CollectionId {
    "pods".into()
}

/// Creates an object with some text in it.
pub(super) fn value(key: &str, text: &str) -> Unversioned {
    let key: ObjectKey = key.parse().unwrap();
    let namespace = key.namespace().unwrap_or_default();
    let name = key.name();
    let body = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","resourceVersion":""}},"data":"{text}"}}"#
    );
    Unversioned::from_json(body.as_bytes()).unwrap()
}

pub(super) fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

/// Blocks on a future without a runtime, which a store does not need. Inside one, tokio's cooperative budget must not
/// end the wait.
pub(super) fn now<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let (mut future, begun) = (pin!(tokio::task::unconstrained(future)), Instant::now());
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park_timeout(PATIENCE),
        }
        assert!(begun.elapsed() < PATIENCE, "not ready after {PATIENCE:?}");
    }
}

fn put(store: &dyn Store, key: &str) -> Revision {
    now(store.put(&pods(), value(key, ""), Precondition::Any)).unwrap().modified()
}

fn delete(store: &dyn Store, text: &str) -> Revision {
    now(store.delete(&pods(), &key(text), None)).unwrap().modified()
}

fn watch(store: &dyn Store, after: Revision) -> Result<BoxWatch, WatchError> {
    now(store.watch(WatchQuery { collection: pods(), namespace: None, after }))
}

/// Returns everything a watch yields now as text, with "end" if it has ended.
fn drain(watch: &mut BoxWatch) -> Vec<String> {
    let mut words = Vec::new();
    while let Some(item) = watch.next().now_or_never() {
        match item {
            Some(Ok(batch)) => words.extend(batch.iter().map(|event| format!("{event:?}"))),
            Some(Err(error)) => words.push(error.to_string()),
            None => {
                words.push("end".into());
                break;
            }
        }
    }
    words
}

fn conflict(result: Result<Arc<Stored>, WriteError>) -> Option<Arc<Stored>> {
    match result {
        Err(WriteError::Conflict { current }) => current,
        other => panic!("expected a conflict, got {other:?}"),
    }
}
