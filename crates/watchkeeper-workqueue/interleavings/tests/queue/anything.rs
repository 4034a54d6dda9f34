//! Random operations on several threads.

use std::sync::Arc;

use shuttle::future::block_on;
use shuttle::rand::{Rng as _, thread_rng};
use shuttle::thread;
use watchkeeper_workqueue_interleavings::{AddOpts, Priority, WorkQueue, time};

use crate::delays::{ASecond, SECOND};
use crate::tracker::{KEYS, Tracker};
use crate::{impatient, interleave, worker};

/// Threads, and operations of each.
const THREADS: usize = 3;
const STEPS: usize = 5;

/// Does something random with a queue that is not shut down.
fn step(queue: &WorkQueue<usize>, tracker: &Tracker) {
    let mut random = thread_rng();
    let key = random.gen_range(0..KEYS);
    let priority = [Priority::Low, Priority::Normal, Priority::High][random.gen_range(0..3)];
    match random.gen_range(0..8) {
        0..3 => {
            tracker.write(key);
            queue.add_with_opts(key, AddOpts::priority(priority));
        }
        3..5 => {
            tracker.write(key);
            queue.add_with_opts(key, AddOpts::priority(priority).after(random.gen_range(0..3) * SECOND));
        }
        5 => {
            if let Some(item) = impatient(queue, random.gen_range(0..3)) {
                tracker.work(*item);
                if random.gen_bool(0.3) {
                    item.retry();
                }
            }
        }
        6 => time::pass(SECOND),
        _ => assert!(queue.len() <= KEYS && !queue.is_shut_down()),
    }
}

#[test]
fn random_operations_lose_no_key_and_end() {
    interleave(|| {
        let builder = WorkQueue::builder();
        let builder = if thread_rng().gen_bool(0.5) { builder.fair_by(|key| key % 2) } else { builder };
        let (queue, tracker) = (builder.rate_limiter(ASecond).build(), Arc::new(Tracker::default()));
        let workers = [worker(&queue, &tracker), worker(&queue, &tracker)];
        let threads = [(); THREADS].map(|()| {
            let (queue, tracker) = (queue.clone(), tracker.clone());
            thread::spawn(move || (0..STEPS).for_each(|_| step(&queue, &tracker)))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        time::pass(10 * SECOND);
        tracker.until_all_seen();
        match thread_rng().gen_range(0..3) {
            0 => block_on(queue.shut_down_with_drain()),
            1 => queue.shut_down(),
            _ => queue.shut_down_now(),
        }
        for worker in workers {
            worker.join().unwrap();
        }
        tracker.assert_all_done();
        assert!(queue.is_empty());
    });
}
