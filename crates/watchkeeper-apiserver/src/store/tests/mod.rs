//! The promises of a store, told through its verbs.

mod behaviour;
mod bounds;
mod model;
mod stress;

use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use watchkeeper_core::ObjectKey;

use super::{
    BoxWatch, Collection, Event, Expect, MemoryStore, Revision, Store, Stored, Unversioned, WatchError,
    WatchQuery, WriteError,
};

fn pods() -> Collection {
    "pods".into()
}

/// An object in a namespace with some text in it.
fn value(key: &str, text: &str) -> Unversioned {
    let key: ObjectKey = key.parse().unwrap();
    let namespace = key.namespace().unwrap_or_default();
    let name = key.name();
    let body = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","resourceVersion":""}},"data":"{text}"}}"#
    );
    Unversioned::from_json(body.as_bytes()).unwrap()
}

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

/// What a store in memory does, it does at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("ready at the first poll")
}

fn put(store: &MemoryStore, key: &str) -> Revision {
    now(store.put(&pods(), value(key, ""), Expect::Any)).unwrap().modified()
}

fn delete(store: &MemoryStore, text: &str) -> Revision {
    now(store.delete(&pods(), &key(text), None)).unwrap().modified()
}

fn watch(store: &MemoryStore, after: Revision) -> Result<BoxWatch, WatchError> {
    now(store.watch(WatchQuery { collection: pods(), namespace: None, after }))
}

/// All that a watch has now, in words, down to its end if it has ended.
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
