//! Many at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use watchkeeper_workqueue::WorkQueue;

const KEYS: u64 = 64;
const ROUNDS: u64 = 2_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_worked_on_twice_at_once_and_nothing_is_forgotten() {
    let queue = WorkQueue::new();
    // What was last written of each key, and what the workers have seen of it.
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
                    assert_eq!(at_once[key].fetch_add(1, Ordering::SeqCst), 0, "Q1");
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
                    // Some lose interest half-way.
                    if round % 10 == 0
                        && let Ok(Some(item)) = tokio::time::timeout(Duration::ZERO, queue.get()).await
                    {
                        queue.add(*item); // he was too slow to lose interest, and leaves it to another
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    queue.drain().await;
    for worker in workers {
        worker.await.unwrap();
    }
    let last: HashMap<_, _> =
        (0..KEYS).map(|key| (key, written[key as usize].load(Ordering::SeqCst))).collect();
    assert_eq!(*seen.lock(), last, "the last state of each key was worked on");
}
