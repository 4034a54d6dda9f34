//! Who waits for what will be there later. Only one of them keeps the time; where nobody does, nobody can go on.

use std::sync::Arc;
use std::time::Duration;

use shuttle::future::block_on;
use shuttle::thread;
use watchkeeper_workqueue_interleavings::{RateLimiter, WorkQueue, time};

use crate::desk::Desk;
use crate::{impatient, interleave, worker};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Every failure costs a second.
pub(crate) struct ASecond;

impl RateLimiter<usize> for ASecond {
    fn when(&self, _key: &usize) -> Duration {
        SECOND
    }

    fn forget(&self, _key: &usize) {}

    fn failures(&self, _key: &usize) -> u32 {
        0
    }
}

#[test]
fn the_earliest_delay_counts_and_somebody_always_keeps_the_time() {
    interleave(|| {
        let (queue, desk) = (WorkQueue::new(), Arc::new(Desk::default()));
        let workers = [worker(&queue, &desk), worker(&queue, &desk)];
        let losing = {
            let (queue, desk) = (queue.clone(), desk.clone());
            thread::spawn(move || {
                for patience in [1, 2] {
                    if let Some(item) = impatient(&queue, patience) {
                        desk.work(*item);
                    }
                }
            })
        };
        let producers = [[(0, 3), (1, 1)], [(0, 2), (1, 4)]].map(|delays| {
            let (queue, desk) = (queue.clone(), desk.clone());
            thread::spawn(move || {
                for (key, delay) in delays {
                    desk.write(key);
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
                desk.until_worked_on(key, times);
            }
            assert_eq!(desk.times(), expected, "after {:?}", time::passed());
            time::pass(SECOND);
        }
        time::pass(10 * SECOND);
        queue.shut_down();
        for worker in workers {
            worker.join().unwrap();
        }
        desk.assert_all_done();
        assert_eq!(desk.times(), [1, 1, 0], "Q4: the other delays are gone");
    });
}

#[test]
fn time_may_pass_while_keys_are_delayed_added_and_given_up() {
    interleave(|| {
        let (queue, desk) = (WorkQueue::new(), Arc::new(Desk::default()));
        let workers = [worker(&queue, &desk), worker(&queue, &desk)];
        let losing = {
            let (queue, desk) = (queue.clone(), desk.clone());
            thread::spawn(move || {
                if let Some(item) = impatient(&queue, 3) {
                    desk.work(*item);
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
            desk.write(key);
            queue.add_after(key, delay * SECOND);
            if key == 1 {
                queue.add(1);
            }
        }
        passing.join().unwrap();
        losing.join().unwrap();
        time::pass(2 * SECOND);
        desk.until_all_seen();
        queue.shut_down();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn what_has_failed_comes_back_and_what_has_worked_comes_again() {
    interleave(|| {
        let queue = WorkQueue::builder().limiter(ASecond).build();
        let (desk, failed) = (Arc::new(Desk::default()), Arc::new(Desk::default()));
        // Each key fails at first, works then, and comes once more after that.
        let workers = [0, 1].map(|_| {
            let (queue, desk, failed) = (queue.clone(), desk.clone(), failed.clone());
            thread::spawn(move || {
                while let Some(item) = block_on(queue.get()) {
                    let key = *item;
                    if failed.times()[key] == 0 {
                        item.retry();
                        failed.work(key);
                        continue;
                    }
                    desk.work(key);
                    if desk.times()[key] == 1 {
                        item.again_after(2 * SECOND);
                        failed.work(key);
                    }
                }
            })
        });
        for key in [0, 1] {
            desk.write(key);
            queue.add(key);
        }
        for (round, wait) in [(1, 1), (2, 2)] {
            for key in [0, 1] {
                failed.until_worked_on(key, round);
            }
            time::pass(wait * SECOND);
        }
        for key in [0, 1] {
            desk.until_worked_on(key, 2);
        }
        queue.shut_down();
        for worker in workers {
            worker.join().unwrap();
        }
        assert_eq!((desk.times(), time::passed()), ([2, 2, 0], 3 * SECOND));
    });
}
