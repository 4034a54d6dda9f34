//! Delayed keys. One of the waiting getters is the timekeeper; without one, the test deadlocks.

use std::sync::Arc;
use std::time::Duration;

use shuttle::future::block_on;
use shuttle::thread;
use watchkeeper_workqueue_interleavings::{RateLimiter, WorkQueue, time};

use crate::tracker::Tracker;
use crate::{impatient, interleave, worker};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Delays every failure by a second.
pub(crate) struct ASecond;

impl RateLimiter<usize> for ASecond {
    fn when(&self, _key: &usize) -> Duration {
        SECOND
    }

    fn forget(&self, _key: &usize) {}

    fn num_requeues(&self, _key: &usize) -> u32 {
        0
    }
}

#[test]
fn the_earliest_deadline_wins_and_there_is_always_a_timekeeper() {
    interleave(|| {
        let (queue, tracker) = (WorkQueue::new(), Arc::new(Tracker::default()));
        let workers = [worker(&queue, &tracker), worker(&queue, &tracker)];
        let losing = {
            let (queue, tracker) = (queue.clone(), tracker.clone());
            thread::spawn(move || {
                for patience in [1, 2] {
                    if let Some(item) = impatient(&queue, patience) {
                        tracker.work(*item);
                    }
                }
            })
        };
        let producers = [[(0, 3), (1, 1)], [(0, 2), (1, 4)]].map(|delays| {
            let (queue, tracker) = (queue.clone(), tracker.clone());
            thread::spawn(move || {
                for (key, delay) in delays {
                    tracker.write(key);
                    queue.add_after(key, delay * SECOND);
                }
            })
        });
        for producer in producers {
            producer.join().unwrap();
        }
        losing.join().unwrap();
        for expected in [[0, 0, 0], [0, 1, 0], [1, 1, 0]] {
            for (key, times) in expected.into_iter().enumerate() {
                tracker.until_processed(key, times);
            }
            assert_eq!(tracker.times(), expected, "after {:?}", time::passed());
            time::pass(SECOND);
        }
        time::pass(10 * SECOND);
        queue.shut_down();
        for worker in workers {
            worker.join().unwrap();
        }
        tracker.assert_all_done();
        assert_eq!(tracker.times(), [1, 1, 0], "workqueue.Q4: the later deadlines are gone");
    });
}

#[test]
fn time_passes_while_keys_are_added_and_gets_are_dropped() {
    interleave(|| {
        let (queue, tracker) = (WorkQueue::new(), Arc::new(Tracker::default()));
        let workers = [worker(&queue, &tracker), worker(&queue, &tracker)];
        let losing = {
            let (queue, tracker) = (queue.clone(), tracker.clone());
            thread::spawn(move || {
                if let Some(item) = impatient(&queue, 3) {
                    tracker.work(*item);
                }
            })
        };
        let passing = thread::spawn(|| {
            for _ in 0..3 {
                time::pass(SECOND);
                thread::yield_now();
            }
        });
        for (key, delay) in [(0, 2), (1, 0), (2, 1), (0, 1), (1, 2)] {
            tracker.write(key);
            queue.add_after(key, delay * SECOND);
            if key == 1 {
                queue.add(1);
            }
        }
        passing.join().unwrap();
        losing.join().unwrap();
        time::pass(2 * SECOND);
        tracker.until_all_seen();
        queue.shut_down();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn retried_and_requeued_keys_return() {
    interleave(|| {
        let queue = WorkQueue::builder().rate_limiter(ASecond).build();
        let (tracker, failed) = (Arc::new(Tracker::default()), Arc::new(Tracker::default()));
        // Each key fails first, then succeeds and asks to be requeued once.
        let workers = [0, 1].map(|_| {
            let (queue, tracker, failed) = (queue.clone(), tracker.clone(), failed.clone());
            thread::spawn(move || {
                while let Some(item) = block_on(queue.get()) {
                    let key = *item;
                    if failed.times()[key] == 0 {
                        item.retry();
                        failed.work(key);
                        continue;
                    }
                    tracker.work(key);
                    if tracker.times()[key] == 1 {
                        item.requeue_after(2 * SECOND);
                        failed.work(key);
                    }
                }
            })
        });
        for key in [0, 1] {
            tracker.write(key);
            queue.add(key);
        }
        for (round, wait) in [(1, 1), (2, 2)] {
            for key in [0, 1] {
                failed.until_processed(key, round);
            }
            time::pass(wait * SECOND);
        }
        for key in [0, 1] {
            tracker.until_processed(key, 2);
        }
        queue.shut_down();
        for worker in workers {
            worker.join().unwrap();
        }
        assert_eq!((tracker.times(), time::passed()), ([2, 2, 0], 3 * SECOND));
    });
}
