//! Shutdown, with and without drain. If a waiter is not woken, the test deadlocks.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use shuttle::future::block_on;
use shuttle::thread;
use watchkeeper_workqueue_interleavings::WorkQueue;

use crate::delays::SECOND;
use crate::tracker::Tracker;
use crate::{impatient, interleave, worker};

#[test]
fn a_drain_ends_when_all_keys_are_done() {
    interleave(|| {
        let (queue, tracker) = (WorkQueue::new(), Arc::new(Tracker::default()));
        let workers = [worker(&queue, &tracker), worker(&queue, &tracker)];
        for key in [0, 1, 0, 2, 1] {
            tracker.write(key);
            queue.add(key);
        }
        let drains = [0, 1].map(|_| {
            let (queue, tracker) = (queue.clone(), tracker.clone());
            thread::spawn(move || {
                block_on(queue.shut_down_with_drain());
                tracker.assert_all_done();
            })
        });
        for drain in drains {
            drain.join().unwrap();
        }
        for worker in workers {
            worker.join().unwrap();
        }
        tracker.assert_all_done();
    });
}

#[test]
fn a_drain_ends_beside_adds_delays_and_dropped_futures() {
    interleave(|| {
        let (queue, tracker) = (WorkQueue::new(), Arc::new(Tracker::default()));
        let working = worker(&queue, &tracker);
        let adding = {
            let (queue, tracker) = (queue.clone(), tracker.clone());
            thread::spawn(move || {
                for key in [0, 1, 0] {
                    tracker.write(key);
                    queue.add(key);
                    queue.add_after(key, SECOND);
                }
            })
        };
        let losing = {
            let (queue, tracker) = (queue.clone(), tracker.clone());
            thread::spawn(move || {
                if let Some(item) = impatient(&queue, 1) {
                    tracker.work(*item);
                }
            })
        };
        let giving_up = {
            let queue = queue.clone();
            thread::spawn(move || {
                block_on(async {
                    let mut drain = pin!(queue.shut_down_with_drain());
                    std::future::poll_fn(|context| Poll::Ready(drain.as_mut().poll(context).is_ready()))
                        .await;
                });
            })
        };
        block_on(queue.shut_down_with_drain());
        tracker.assert_idle();
        for thread in [working, adding, losing, giving_up] {
            thread.join().unwrap();
        }
        tracker.assert_idle();
        assert!(queue.is_empty() && queue.is_shut_down());
    });
}

#[test]
fn a_shutdown_ends_a_drain_and_queued_keys_are_still_handed_out() {
    interleave(|| {
        let (queue, tracker) = (WorkQueue::new(), Arc::new(Tracker::default()));
        tracker.write(1);
        queue.add(0);
        queue.add(1);
        let held = block_on(queue.get()).unwrap();
        let draining = {
            let queue = queue.clone();
            thread::spawn(move || block_on(queue.shut_down_with_drain()))
        };
        let closing = {
            let queue = queue.clone();
            thread::spawn(move || queue.shut_down())
        };
        let workers = [worker(&queue, &tracker), worker(&queue, &tracker)];
        draining.join().unwrap(); // although a key is held
        for worker in workers {
            worker.join().unwrap();
        }
        closing.join().unwrap();
        drop(held);
        tracker.assert_all_done();
        assert_eq!(tracker.times(), [0, 1, 0]);
    });
}

#[test]
fn a_waiting_worker_receives_a_key_that_another_still_holds() {
    interleave(|| {
        let (queue, tracker) = (WorkQueue::new(), Arc::new(Tracker::default()));
        queue.add(0);
        let held = block_on(queue.get()).unwrap();
        tracker.write(0);
        queue.add(0); // to be handed out again after `held`
        let workers = [worker(&queue, &tracker), worker(&queue, &tracker)];
        let done = thread::spawn(move || drop(held)); // its thread takes no other key
        let draining = {
            let tracker = tracker.clone();
            thread::spawn(move || {
                block_on(queue.shut_down_with_drain());
                tracker.assert_all_done();
            })
        };
        for thread in workers.into_iter().chain([done, draining]) {
            thread.join().unwrap();
        }
        assert_eq!(tracker.times(), [1, 0, 0]);
    });
}

#[test]
fn shut_down_now_hands_out_no_keys_and_wakes_every_waiter() {
    interleave(|| {
        let (queue, tracker) = (WorkQueue::new(), Arc::new(Tracker::default()));
        queue.add(0);
        let held = block_on(queue.get()).unwrap();
        queue.add(0); // to be handed out again after `held`
        queue.add_after(1, SECOND);
        let workers = [worker(&queue, &tracker), worker(&queue, &tracker)];
        let draining = {
            let queue = queue.clone();
            thread::spawn(move || block_on(queue.shut_down_with_drain()))
        };
        let closing = {
            let queue = queue.clone();
            thread::spawn(move || queue.shut_down_now())
        };
        draining.join().unwrap();
        for worker in workers {
            worker.join().unwrap();
        }
        closing.join().unwrap();
        drop(held);
        assert_eq!(tracker.times(), [0, 0, 0]);
        assert!(block_on(queue.get()).is_none() && queue.is_empty());
    });
}
