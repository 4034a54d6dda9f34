//! What goes first (Q5).

use std::time::Duration;

use watchkeeper_workqueue::Priority::{High, Low, Normal};
use watchkeeper_workqueue::WorkQueue;

use crate::{all, next, take};

#[test]
fn first_come_first_served() {
    let queue = WorkQueue::new();
    for key in 0..100 {
        queue.add(key);
    }
    queue.add(0); // keeps its place
    assert_eq!(all(&queue), (0..100).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn the_urgent_goes_first_and_the_rest_gets_older() {
    let queue = WorkQueue::builder().aging(Duration::from_secs(10)).build();
    queue.add_as("old low", Low);
    tokio::time::advance(Duration::from_secs(9)).await;
    queue.add_as("young low", Low);
    queue.add("early");
    queue.add_as("urgent", High);
    tokio::time::advance(Duration::from_secs(2)).await;
    queue.add("late");
    // The old one counts as normal since second 10, and `late` was added at 11.
    assert_eq!(all(&queue), ["urgent", "early", "old low", "late", "young low"]);
}

#[test]
fn what_becomes_urgent_while_it_waits_moves_up_and_never_down() {
    let queue = WorkQueue::new();
    for key in ["a", "b", "c"] {
        queue.add_as(key, Low);
    }
    queue.add("c");
    queue.add_as("c", Low);
    assert_eq!(queue.len(), 3);
    assert_eq!(all(&queue), ["c", "a", "b"]);

    queue.add("a");
    let item = take(&queue).unwrap();
    queue.add_as("a", Low);
    queue.add_as("a", High);
    queue.add("b");
    drop(item);
    assert_eq!(all(&queue), ["a", "b"]);
}

#[test]
fn a_namespace_with_many_keys_does_not_hold_up_one_with_few() {
    let queue = WorkQueue::builder().fair_by(|key: &&str| key.split('/').next().map(str::to_owned)).build();
    for key in ["big/1", "big/2", "big/3", "big/4", "small/1", "small/2", "other/1"] {
        queue.add(key);
    }
    let order = ["big/1", "small/1", "other/1", "big/2", "small/2", "big/3", "big/4"];
    assert_eq!(all(&queue), order);
    queue.add_as("big/1", Low);
    queue.add_as("big/2", Low);
    queue.add_as("small/1", Low);
    queue.add_as("small/1", Normal); // leaves an empty row behind
    queue.add_as("other/1", Low);
    assert_eq!(all(&queue), ["small/1", "big/1", "other/1", "big/2"]);
    assert_eq!(next(&queue), None);
}
