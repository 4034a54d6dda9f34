//! The guarantees of the queue, through its public API.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod delays;
mod handing_out;
mod many_workers;
mod memory;
mod metrics;
mod model;
mod order;
mod shutdown;

use std::future::Future;

use futures_util::FutureExt as _;
use watchkeeper_workqueue::{Item, Key, WorkQueue};

/// Polls a future once.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    future.now_or_never()
}

/// Takes and finishes the next key, without waiting.
fn next<T: Key>(queue: &WorkQueue<T>) -> Option<T> {
    take(queue).map(|item| item.key().clone())
}

/// Takes the next item, without waiting.
fn take<T: Key>(queue: &WorkQueue<T>) -> Option<Item<T>> {
    now(queue.get()).flatten()
}

/// Takes and finishes all keys, without waiting.
fn all<T: Key>(queue: &WorkQueue<T>) -> Vec<T> {
    std::iter::from_fn(|| next(queue)).collect()
}
