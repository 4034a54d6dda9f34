//! Handing out keys to workers (`workqueue.Q1` to `workqueue.Q3`).

use std::future::Future as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use watchkeeper_workqueue::WorkQueue;

use crate::{all, next, now, take};

#[test]
fn a_queued_key_is_handed_out_once() {
    let queue = WorkQueue::new();
    for key in ["a", "b", "a", "a", "b"] {
        queue.add(key);
    }
    assert_eq!(queue.len(), 2);
    assert_eq!(all(&queue), ["a", "b"]);
    assert!(queue.is_empty());
    queue.add("a");
    assert_eq!(all(&queue), ["a"], "a finished key can be added again");
}

#[test]
fn a_key_added_while_processed_is_handed_out_once_more() {
    let queue = WorkQueue::new();
    queue.add("a");
    let item = take(&queue).unwrap();
    queue.add("a");
    queue.add("a");
    assert_eq!((queue.len(), next(&queue)), (0, None), "workqueue.Q1");
    drop(item);
    assert_eq!(queue.len(), 1);
    assert_eq!(all(&queue), ["a"]);
}

#[test]
fn a_panicking_worker_releases_its_key() {
    let queue = WorkQueue::new();
    queue.add("a");
    let worker = queue.clone();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _item = take(&worker).unwrap();
        std::panic::resume_unwind(Box::new("failed on purpose"));
    }));
    assert!(outcome.is_err());
    queue.add("a");
    assert_eq!(all(&queue), ["a"]);
}

#[test]
fn finished_keys_are_dropped() {
    let queue = WorkQueue::new();
    let key = Arc::new("a");
    queue.add(key.clone());
    assert_eq!(next(&queue).as_deref(), Some(&"a"));
    assert_eq!(Arc::strong_count(&key), 1);
}

#[tokio::test]
async fn adding_a_key_wakes_a_worker() {
    let queue = WorkQueue::new();
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|item| *item) }
    });
    tokio::task::yield_now().await; // the worker waits
    queue.add("a");
    assert_eq!(worker.await.unwrap(), Some("a"));
}

#[test]
fn a_dropped_get_passes_its_wake_up_on() {
    let queue = WorkQueue::new();
    let mut context = Context::from_waker(Waker::noop());
    let woken = Arc::new(Woken::default());
    let flag = Waker::from(woken.clone());
    let mut first = Box::pin(queue.get());
    let mut second = Box::pin(queue.get());
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut Context::from_waker(&flag)).is_pending());
    queue.add("a"); // wakes the first
    drop(first);
    assert!(woken.0.load(Ordering::Relaxed), "the second is woken instead");
    assert_eq!(now(second).flatten().map(|item| *item), Some("a"));
}

#[tokio::test]
async fn a_worker_that_never_waits_yields_to_other_tasks() {
    let queue = WorkQueue::new();
    queue.add(0_u64);
    let endless = tokio::spawn({
        let queue = queue.clone();
        async move {
            while let Some(item) = queue.get().await {
                queue.add(*item + 1);
            }
        }
    });
    tokio::task::yield_now().await; // does not return if the worker never yields
    queue.shut_down();
    endless.await.unwrap();
}

/// Records whether it was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
