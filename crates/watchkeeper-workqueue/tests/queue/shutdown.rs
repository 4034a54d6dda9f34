//! Shutdown, with and without drain.

use std::time::Duration;

use watchkeeper_workqueue::WorkQueue;

use crate::{all, next, now, take};

#[tokio::test(start_paused = true)]
async fn shutdown_refuses_new_keys_and_hands_out_queued_ones() {
    let queue = WorkQueue::new();
    queue.add("a");
    queue.add_after("b", Duration::from_secs(1));
    assert!(!queue.is_shut_down());
    queue.shut_down();
    assert!(queue.is_shut_down());
    queue.add("c");
    queue.add_after("d", Duration::ZERO);
    assert_eq!(all(&queue), ["a"]);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(now(queue.get()).is_some_and(|item| item.is_none()), "the delayed key is gone");
}

#[tokio::test]
async fn shutdown_wakes_every_waiting_worker() {
    let queue = WorkQueue::<&str>::new();
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.get().await.is_none() })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.shut_down();
    for worker in workers {
        assert!(worker.await.unwrap());
    }
}

#[tokio::test]
async fn drain_waits_for_queued_and_processing_keys() {
    let queue = WorkQueue::new();
    queue.add("a");
    queue.add("b");
    let item = take(&queue).unwrap();
    let mut drain = Box::pin(queue.shut_down_with_drain());
    assert!(now(&mut drain).is_none());
    queue.add("c");
    assert_eq!(next(&queue), Some("b"));
    assert!(now(&mut drain).is_none());
    drop(item);
    drain.await;
    assert_eq!(next(&queue), None);
}

#[tokio::test]
async fn a_key_added_while_processed_is_processed_again_before_a_drain_ends() {
    let queue = WorkQueue::new();
    queue.add("a");
    let item = take(&queue).unwrap();
    queue.add("a");
    let draining = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move {
            let mut seen = Vec::new();
            while let Some(item) = queue.get().await {
                seen.push(*item);
            }
            seen
        }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "a key that was added again is still to come");
    drop(item);
    assert_eq!(waiting.await.unwrap(), ["a"]);
    draining.await.unwrap();
}

#[tokio::test]
async fn a_shutdown_ends_a_drain() {
    let queue = WorkQueue::new();
    queue.add("a");
    let item = take(&queue).unwrap();
    let draining = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    tokio::task::yield_now().await;
    assert!(!draining.is_finished());
    queue.shut_down();
    draining.await.unwrap();
    drop(item);
    queue.shut_down_with_drain().await; // again, with nothing to wait for
}

#[tokio::test(start_paused = true)]
async fn shut_down_now_drops_queued_keys() {
    let queue = WorkQueue::new();
    for key in ["a", "b", "c"] {
        queue.add(key);
    }
    queue.add_after("d", Duration::from_secs(1));
    let item = take(&queue).unwrap();
    queue.add("a");
    queue.add_after("a", Duration::from_secs(1));
    queue.shut_down_now();
    assert!(now(queue.get()).is_some_and(|item| item.is_none()));
    drop(item);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(now(queue.get()).is_some_and(|item| item.is_none()));
    queue.shut_down_with_drain().await;
}
