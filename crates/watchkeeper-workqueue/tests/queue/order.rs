//! The order of keys (`workqueue.Q5`).

use std::time::Duration;

use watchkeeper_workqueue::Priority::{High, Low, Normal};
use watchkeeper_workqueue::{AddOpts, WorkQueue};

use crate::{all, next, take};

#[test]
fn keys_of_one_priority_are_fifo() {
    let queue = WorkQueue::new();
    for key in 0..100 {
        queue.add(key);
    }
    queue.add(0); // keeps its position
    assert_eq!(all(&queue), (0..100).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn higher_priorities_go_first_and_lower_ones_age() {
    let queue = WorkQueue::builder().aging(Duration::from_secs(10)).build();
    queue.add_with_opts("old low", AddOpts::priority(Low));
    tokio::time::advance(Duration::from_secs(9)).await;
    queue.add_with_opts("young low", AddOpts::priority(Low));
    queue.add("early");
    queue.add_with_opts("urgent", AddOpts::priority(High));
    tokio::time::advance(Duration::from_secs(2)).await;
    queue.add("late");
    // `old low` counts as normal from second 10 on, and `late` was added at second 11.
    assert_eq!(all(&queue), ["urgent", "early", "old low", "late", "young low"]);
}

#[tokio::test(start_paused = true)]
async fn the_first_key_with_a_priority_goes_before_those_without() {
    let queue = WorkQueue::builder().aging(Duration::from_secs(10)).build();
    tokio::time::advance(Duration::from_secs(60)).await;
    queue.add("normal");
    queue.add_with_opts("urgent", AddOpts::priority(High));
    assert_eq!(all(&queue), ["urgent", "normal"]);
}

#[test]
fn the_priority_of_a_queued_key_rises_and_never_falls() {
    let queue = WorkQueue::new();
    for key in ["a", "b", "c"] {
        queue.add_with_opts(key, AddOpts::priority(Low));
    }
    queue.add("c");
    queue.add_with_opts("c", AddOpts::priority(Low));
    assert_eq!(queue.len(), 3);
    assert_eq!(all(&queue), ["c", "a", "b"]);

    queue.add("a");
    let item = take(&queue).unwrap();
    queue.add_with_opts("a", AddOpts::priority(Low));
    queue.add_with_opts("a", AddOpts::priority(High));
    queue.add("b");
    drop(item);
    assert_eq!(all(&queue), ["a", "b"]);
}

#[test]
fn a_large_group_does_not_starve_a_small_one() {
    let queue = WorkQueue::builder().fair_by(|key: &&str| key.split('/').next().map(str::to_owned)).build();
    for key in ["big/1", "big/2", "big/3", "big/4", "small/1", "small/2", "other/1"] {
        queue.add(key);
    }
    let order = ["big/1", "small/1", "other/1", "big/2", "small/2", "big/3", "big/4"];
    assert_eq!(all(&queue), order);
    queue.add_with_opts("big/1", AddOpts::priority(Low));
    queue.add_with_opts("big/2", AddOpts::priority(Low));
    queue.add_with_opts("small/1", AddOpts::priority(Low));
    queue.add_with_opts("small/1", AddOpts::priority(Normal)); // leaves an empty group behind
    queue.add_with_opts("other/1", AddOpts::priority(Low));
    assert_eq!(all(&queue), ["small/1", "big/1", "other/1", "big/2"]);
    assert_eq!(next(&queue), None);
}
