//! What the queue promises, through what is public.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod delays;
mod handing_out;
mod many_workers;
mod metrics;
mod model;
mod order;
mod remembering;
mod shutdown;

use std::future::Future;

use futures_util::FutureExt as _;
use watchkeeper_workqueue::{Item, Key, WorkQueue};

/// What there is at once.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    future.now_or_never()
}

/// The next key that there is at once, and is done at once.
fn next<T: Key>(queue: &WorkQueue<T>) -> Option<T> {
    take(queue).map(|item| item.key().clone())
}

/// The next item that there is at once.
fn take<T: Key>(queue: &WorkQueue<T>) -> Option<Item<T>> {
    now(queue.get()).flatten()
}

/// All keys that there are at once, each done at once.
fn all<T: Key>(queue: &WorkQueue<T>) -> Vec<T> {
    std::iter::from_fn(|| next(queue)).collect()
}
