//! Whatever several of them do at once, by chance.

use std::sync::Arc;

use shuttle::future::block_on;
use shuttle::rand::{Rng as _, thread_rng};
use shuttle::thread;
use watchkeeper_workqueue_interleavings::{Priority, WorkQueue, time};

use crate::delays::{ASecond, SECOND};
use crate::desk::{Desk, KEYS};
use crate::{impatient, interleave, worker};

/// How many do something, and how much each does.
const THREADS: usize = 3;
const STEPS: usize = 5;

/// Any of what can be done with a queue that is not shut down.
fn step(queue: &WorkQueue<usize>, desk: &Desk) {
    let mut random = thread_rng();
    let key = random.gen_range(0..KEYS);
    let priority = [Priority::Low, Priority::Normal, Priority::High][random.gen_range(0..3)];
    match random.gen_range(0..8) {
        0..3 => {
            desk.write(key);
            queue.add_as(key, priority);
        }
        3..5 => {
            desk.write(key);
            queue.add_after_as(key, random.gen_range(0..3) * SECOND, priority);
        }
        5 => {
            if let Some(item) = impatient(queue, random.gen_range(0..3)) {
                desk.work(*item);
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
fn whatever_is_done_nothing_is_lost_and_all_of_it_ends() {
    interleave(|| {
        let queue = match thread_rng().gen_bool(0.5) {
            true => WorkQueue::builder().fair_by(|key| key % 2),
            false => WorkQueue::builder(),
        };
        let (queue, desk) = (queue.limiter(ASecond).build(), Arc::new(Desk::default()));
        let workers = [worker(&queue, &desk), worker(&queue, &desk)];
        let threads = [(); THREADS].map(|()| {
            let (queue, desk) = (queue.clone(), desk.clone());
            thread::spawn(move || (0..STEPS).for_each(|_| step(&queue, &desk)))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        time::pass(10 * SECOND);
        desk.until_all_seen();
        match thread_rng().gen_range(0..3) {
            0 => block_on(queue.drain()),
            1 => queue.shut_down(),
            _ => queue.abandon(),
        }
        for worker in workers {
            worker.join().unwrap();
        }
        desk.assert_all_done();
        assert!(queue.is_empty());
    });
}
