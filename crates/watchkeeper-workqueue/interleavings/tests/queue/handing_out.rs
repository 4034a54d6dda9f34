//! Adding, taking and giving up at once. After a lost wake-up the test deadlocks.

use std::sync::Arc;

use shuttle::thread;
use watchkeeper_workqueue_interleavings::WorkQueue;

use crate::tracker::Tracker;
use crate::{impatient, interleave, worker};

/// Writes and adds keys.
fn producer(
    queue: &WorkQueue<usize>,
    tracker: &Arc<Tracker>,
    keys: impl IntoIterator<Item = usize> + Send + 'static,
) -> thread::JoinHandle<()> {
    let (queue, tracker) = (queue.clone(), tracker.clone());
    thread::spawn(move || {
        for key in keys {
            tracker.write(key);
            queue.add(key);
        }
    })
}

#[test]
fn no_two_workers_hold_a_key_and_its_last_state_is_processed() {
    interleave(|| {
        let (queue, tracker) = (WorkQueue::new(), Arc::new(Tracker::default()));
        let workers = [worker(&queue, &tracker), worker(&queue, &tracker), worker(&queue, &tracker)];
        let producers = [producer(&queue, &tracker, [0, 1, 0]), producer(&queue, &tracker, [1, 0, 1])];
        for producer in producers {
            producer.join().unwrap();
        }
        tracker.until_all_seen();
        queue.shut_down();
        for worker in workers {
            worker.join().unwrap();
        }
        tracker.assert_all_done();
        assert_eq!(queue.len(), 0);
    });
}

#[test]
fn a_key_added_once_is_handed_out_once() {
    interleave(|| {
        let (queue, tracker) = (WorkQueue::new(), Arc::new(Tracker::default()));
        let workers = [worker(&queue, &tracker), worker(&queue, &tracker)];
        let producers = [producer(&queue, &tracker, [0, 1]), producer(&queue, &tracker, [2])];
        for producer in producers {
            producer.join().unwrap();
        }
        queue.shut_down();
        for worker in workers {
            worker.join().unwrap();
        }
        tracker.assert_all_done();
        assert_eq!(tracker.times(), [1, 1, 1]);
    });
}

#[test]
fn a_dropped_get_loses_neither_a_key_nor_a_wake_up() {
    interleave(|| {
        let (queue, tracker) = (WorkQueue::new(), Arc::new(Tracker::default()));
        let losing = [1, 2].map(|patience| {
            let (queue, tracker) = (queue.clone(), tracker.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    if let Some(item) = impatient(&queue, patience) {
                        tracker.work(*item);
                    }
                }
            })
        });
        let patient = worker(&queue, &tracker);
        let producer = producer(&queue, &tracker, [0, 1, 2]);
        producer.join().unwrap();
        for losing in losing {
            losing.join().unwrap();
        }
        tracker.until_all_seen();
        queue.shut_down();
        patient.join().unwrap();
        assert_eq!(tracker.times(), [1, 1, 1]);
    });
}

#[test]
fn as_many_workers_run_as_there_are_keys() {
    interleave(|| {
        let queue = WorkQueue::new();
        let meet = Arc::new(shuttle::sync::Barrier::new(3));
        // No worker finishes before all have a key.
        let workers = [0, 1, 2].map(|_| {
            let (queue, meet) = (queue.clone(), meet.clone());
            thread::spawn(move || {
                let item = shuttle::future::block_on(queue.get());
                meet.wait();
                drop(item);
            })
        });
        for key in 0..3 {
            queue.add(key);
        }
        for worker in workers {
            worker.join().unwrap();
        }
    });
}
