//! Many producers and workers at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use watchkeeper_workqueue::WorkQueue;

const KEYS: u64 = 64;
const ROUNDS: u64 = 2_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_key_is_processed_twice_at_once_and_none_is_lost() {
    let queue = WorkQueue::new();
    // The last state of each key, and the state in which a worker last processed it.
    let written: Arc<Vec<AtomicU64>> = Arc::new((0..KEYS).map(|_| AtomicU64::new(0)).collect());
    let seen = Arc::new(Mutex::new(HashMap::new()));
    let at_once: Arc<Vec<AtomicUsize>> = Arc::new((0..KEYS).map(|_| AtomicUsize::new(0)).collect());

    let workers: Vec<_> = (0..8)
        .map(|_| {
            let (queue, written, seen, at_once) =
                (queue.clone(), written.clone(), seen.clone(), at_once.clone());
            tokio::spawn(async move {
                while let Some(item) = queue.get().await {
                    let key = *item as usize;
                    assert_eq!(at_once[key].fetch_add(1, Ordering::SeqCst), 0, "workqueue.Q1");
                    let state = written[key].load(Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    seen.lock().insert(*item, state);
                    at_once[key].fetch_sub(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (queue, written) = (queue.clone(), written.clone());
            tokio::spawn(async move {
                for round in 0..ROUNDS {
                    let key = (round * 7 + writer * 13) % KEYS;
                    written[key as usize].fetch_add(1, Ordering::SeqCst);
                    queue.add(key);
                    // Some gets are dropped while they wait.
                    if round % 10 == 0
                        && let Ok(Some(item)) = tokio::time::timeout(Duration::ZERO, queue.get()).await
                    {
                        queue.add(*item); // it completed first: leave the key to a worker
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    queue.shut_down_with_drain().await;
    for worker in workers {
        worker.await.unwrap();
    }
    let last: HashMap<_, _> =
        (0..KEYS).map(|key| (key, written[key as usize].load(Ordering::SeqCst))).collect();
    assert_eq!(*seen.lock(), last, "the last state of each key was processed");
}
