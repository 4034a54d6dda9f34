//! Who waits for the end, and who brings it about. Where an end is not told to all, nobody can go on.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use shuttle::future::block_on;
use shuttle::thread;
use watchkeeper_workqueue_interleavings::WorkQueue;

use crate::delays::SECOND;
use crate::desk::Desk;
use crate::{impatient, interleave, worker};

#[test]
fn a_drain_ends_when_all_is_done_and_not_before() {
    interleave(|| {
        let (queue, desk) = (WorkQueue::new(), Arc::new(Desk::default()));
        let workers = [worker(&queue, &desk), worker(&queue, &desk)];
        for key in [0, 1, 0, 2, 1] {
            desk.write(key);
            queue.add(key);
        }
        let drains = [0, 1].map(|_| {
            let (queue, desk) = (queue.clone(), desk.clone());
            thread::spawn(move || {
                block_on(queue.drain());
                desk.assert_all_done();
            })
        });
        for drain in drains {
            drain.join().unwrap();
        }
        for worker in workers {
            worker.join().unwrap();
        }
        desk.assert_all_done();
    });
}

#[test]
fn whoever_adds_delays_waits_or_gives_up_during_a_drain_all_of_them_end() {
    interleave(|| {
        let (queue, desk) = (WorkQueue::new(), Arc::new(Desk::default()));
        let working = worker(&queue, &desk);
        let adding = {
            let (queue, desk) = (queue.clone(), desk.clone());
            thread::spawn(move || {
                for key in [0, 1, 0] {
                    desk.write(key);
                    queue.add(key);
                    queue.add_after(key, SECOND);
                }
            })
        };
        let losing = {
            let (queue, desk) = (queue.clone(), desk.clone());
            thread::spawn(move || {
                if let Some(item) = impatient(&queue, 1) {
                    desk.work(*item);
                }
            })
        };
        let giving_up = {
            let queue = queue.clone();
            thread::spawn(move || {
                block_on(async {
                    let mut drain = pin!(queue.drain());
                    std::future::poll_fn(|context| Poll::Ready(drain.as_mut().poll(context).is_ready()))
                        .await;
                });
            })
        };
        block_on(queue.drain());
        desk.assert_idle();
        for thread in [working, adding, losing, giving_up] {
            thread.join().unwrap();
        }
        desk.assert_idle();
        assert!(queue.is_empty() && queue.is_shut_down());
    });
}

#[test]
fn a_shutdown_ends_a_drain_and_what_waits_is_still_handed_out() {
    interleave(|| {
        let (queue, desk) = (WorkQueue::new(), Arc::new(Desk::default()));
        desk.write(1);
        queue.add(0);
        queue.add(1);
        let held = block_on(queue.get()).unwrap();
        let draining = {
            let queue = queue.clone();
            thread::spawn(move || block_on(queue.drain()))
        };
        let closing = {
            let queue = queue.clone();
            thread::spawn(move || queue.shut_down())
        };
        let workers = [worker(&queue, &desk), worker(&queue, &desk)];
        draining.join().unwrap(); // though one is held
        for worker in workers {
            worker.join().unwrap();
        }
        closing.join().unwrap();
        drop(held);
        desk.assert_all_done();
        assert_eq!(desk.times(), [0, 1, 0]);
    });
}

#[test]
fn who_waits_at_the_end_gets_what_another_is_still_at() {
    interleave(|| {
        let (queue, desk) = (WorkQueue::new(), Arc::new(Desk::default()));
        queue.add(0);
        let held = block_on(queue.get()).unwrap();
        desk.write(0);
        queue.add(0); // once more, when it is done
        let workers = [worker(&queue, &desk), worker(&queue, &desk)];
        let done = thread::spawn(move || drop(held)); // who has it takes no other
        let draining = {
            let desk = desk.clone();
            thread::spawn(move || {
                block_on(queue.drain());
                desk.assert_all_done();
            })
        };
        for thread in workers.into_iter().chain([done, draining]) {
            thread.join().unwrap();
        }
        assert_eq!(desk.times(), [1, 0, 0]);
    });
}

#[test]
fn what_is_abandoned_is_not_handed_out_and_all_who_wait_are_told() {
    interleave(|| {
        let (queue, desk) = (WorkQueue::new(), Arc::new(Desk::default()));
        queue.add(0);
        let held = block_on(queue.get()).unwrap();
        queue.add(0); // once more, when it is done
        queue.add_after(1, SECOND);
        let workers = [worker(&queue, &desk), worker(&queue, &desk)];
        let draining = {
            let queue = queue.clone();
            thread::spawn(move || block_on(queue.drain()))
        };
        let abandoning = {
            let queue = queue.clone();
            thread::spawn(move || queue.abandon())
        };
        draining.join().unwrap();
        for worker in workers {
            worker.join().unwrap();
        }
        abandoning.join().unwrap();
        drop(held);
        assert_eq!(desk.times(), [0, 0, 0]);
        assert!(block_on(queue.get()).is_none() && queue.is_empty());
    });
}
