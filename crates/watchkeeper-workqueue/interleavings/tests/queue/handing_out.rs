//! Who adds, takes and loses interest at once. Where a wake-up is missed nobody can go on, and that fails.

use std::sync::Arc;

use shuttle::thread;
use watchkeeper_workqueue_interleavings::WorkQueue;

use crate::desk::Desk;
use crate::{impatient, interleave, worker};

/// Writes and adds.
fn producer(
    queue: &WorkQueue<usize>,
    desk: &Arc<Desk>,
    keys: impl IntoIterator<Item = usize> + Send + 'static,
) -> thread::JoinHandle<()> {
    let (queue, desk) = (queue.clone(), desk.clone());
    thread::spawn(move || {
        for key in keys {
            desk.write(key);
            queue.add(key);
        }
    })
}

#[test]
fn no_key_is_with_two_at_once_and_the_last_state_of_each_is_worked_on() {
    interleave(|| {
        let (queue, desk) = (WorkQueue::new(), Arc::new(Desk::default()));
        let workers = [worker(&queue, &desk), worker(&queue, &desk), worker(&queue, &desk)];
        let producers = [producer(&queue, &desk, [0, 1, 0]), producer(&queue, &desk, [1, 0, 1])];
        for producer in producers {
            producer.join().unwrap();
        }
        desk.until_all_seen();
        queue.shut_down();
        for worker in workers {
            worker.join().unwrap();
        }
        desk.assert_all_done();
        assert_eq!(queue.len(), 0);
    });
}

#[test]
fn what_is_added_once_is_handed_out_once() {
    interleave(|| {
        let (queue, desk) = (WorkQueue::new(), Arc::new(Desk::default()));
        let workers = [worker(&queue, &desk), worker(&queue, &desk)];
        let producers = [producer(&queue, &desk, [0, 1]), producer(&queue, &desk, [2])];
        for producer in producers {
            producer.join().unwrap();
        }
        queue.shut_down();
        for worker in workers {
            worker.join().unwrap();
        }
        desk.assert_all_done();
        assert_eq!(desk.times(), [1, 1, 1]);
    });
}

#[test]
fn who_loses_interest_half_way_takes_neither_a_key_nor_a_wake_up_with_him() {
    interleave(|| {
        let (queue, desk) = (WorkQueue::new(), Arc::new(Desk::default()));
        let losing = [1, 2].map(|patience| {
            let (queue, desk) = (queue.clone(), desk.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    if let Some(item) = impatient(&queue, patience) {
                        desk.work(*item);
                    }
                }
            })
        });
        let patient = worker(&queue, &desk);
        let producer = producer(&queue, &desk, [0, 1, 2]);
        producer.join().unwrap();
        for losing in losing {
            losing.join().unwrap();
        }
        desk.until_all_seen();
        queue.shut_down();
        patient.join().unwrap();
        assert_eq!(desk.times(), [1, 1, 1]);
    });
}

#[test]
fn as_many_as_there_are_keys_work_at_once() {
    interleave(|| {
        let queue = WorkQueue::new();
        let meet = Arc::new(shuttle::sync::Barrier::new(3));
        // None is done before all have begun.
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
