//! What the queue promises, in many interleavings of whoever adds, takes, waits, leaves and ends.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anything;
mod delays;
mod desk;
mod ending;
mod handing_out;

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use shuttle::future::{block_on, yield_now};
use shuttle::thread::{self, JoinHandle};
use watchkeeper_workqueue_interleavings::{Item, WorkQueue, time};

use crate::desk::Desk;

/// How many interleavings a test goes through, and how many of them are of the sort that finds bugs of few changes.
const RANDOM: usize = 2_000;
const PRIORITIES: usize = 2_000;
const CHANGES: usize = 3;

/// Runs it in many interleavings, each from the beginning of time. One in which nobody can go on, as when a wake-up
/// is missed, fails too; a failure says how to run it again.
fn interleave(test: impl Fn() + Send + Sync + Clone + 'static) {
    let test = move || {
        time::begin();
        test();
    };
    shuttle::check_random(test.clone(), RANDOM);
    shuttle::check_pct(test, PRIORITIES, CHANGES);
}

/// Works on whatever there is until the end.
fn worker(queue: &WorkQueue<usize>, desk: &Arc<Desk>) -> JoinHandle<()> {
    let (queue, desk) = (queue.clone(), desk.clone());
    thread::spawn(move || {
        while let Some(item) = block_on(queue.get()) {
            desk.work(*item);
        }
    })
}

/// Waits for an item, but not for long: he looks once, and leaves after so many others have had their turn, without
/// looking whether he was woken.
fn impatient(queue: &WorkQueue<usize>, patience: usize) -> Option<Item<usize>> {
    block_on(async {
        let mut get = pin!(queue.get());
        let looked = std::future::poll_fn(|context| Poll::Ready(get.as_mut().poll(context))).await;
        if let Poll::Ready(item) = looked {
            return item;
        }
        for _ in 0..patience {
            yield_now().await;
        }
        None
    })
}
