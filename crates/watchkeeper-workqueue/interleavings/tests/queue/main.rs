//! The guarantees of the queue, in many interleavings of adding, taking, waiting, giving up and shutting down.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anything;
mod delays;
mod ending;
mod handing_out;
mod tracker;

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use shuttle::future::{block_on, yield_now};
use shuttle::thread::{self, JoinHandle};
use watchkeeper_workqueue_interleavings::{Item, WorkQueue, time};

use crate::tracker::Tracker;

/// Interleavings per test: random ones, and ones of the PCT scheduler with this many preemptions.
const RANDOM: usize = 2_000;
const PRIORITIES: usize = 2_000;
const CHANGES: usize = 3;

/// Runs a test in many interleavings, each from time zero. A deadlock, as after a lost wake-up, fails too; a failure
/// prints how to replay it.
fn interleave(test: impl Fn() + Send + Sync + Clone + 'static) {
    let test = move || {
        time::begin();
        test();
    };
    shuttle::check_random(test.clone(), RANDOM);
    shuttle::check_pct(test, PRIORITIES, CHANGES);
}

/// Processes keys until the queue is shut down.
fn worker(queue: &WorkQueue<usize>, tracker: &Arc<Tracker>) -> JoinHandle<()> {
    let (queue, tracker) = (queue.clone(), tracker.clone());
    thread::spawn(move || {
        while let Some(item) = block_on(queue.get()) {
            tracker.work(*item);
        }
    })
}

/// Polls a get once and drops it after yielding `patience` times, without checking whether it was woken.
fn impatient(queue: &WorkQueue<usize>, patience: usize) -> Option<Item<usize>> {
    block_on(async {
        let mut get = pin!(queue.get());
        let polled = std::future::poll_fn(|context| Poll::Ready(get.as_mut().poll(context))).await;
        if let Poll::Ready(item) = polled {
            return item;
        }
        for _ in 0..patience {
            yield_now().await;
        }
        None
    })
}
