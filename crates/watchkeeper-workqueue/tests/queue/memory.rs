//! Keys that the queue holds in memory.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use watchkeeper_workqueue::WorkQueue;

use crate::{all, next};

#[test]
fn the_queue_keeps_no_finished_key() {
    let queue = WorkQueue::new();
    let keys: Vec<Arc<usize>> = (0..5_000).map(Arc::new).collect();
    let kept = || keys.iter().filter(|key| Arc::strong_count(key) > 1).count();
    for key in &keys {
        queue.add(key.clone());
    }
    for key in &keys[..3_000] {
        assert_eq!(next(&queue).as_ref(), Some(key));
    }
    assert_eq!(kept(), 2_000, "queued");
    assert_eq!(all(&queue).len(), 2_000);
    assert_eq!(kept(), 0);

    for key in &keys[..10] {
        queue.add(key.clone());
    }
    assert_eq!(next(&queue).as_ref(), Some(&keys[0]));
    queue.shut_down();
    assert_eq!(kept(), 9, "queued");
    queue.shut_down_now();
    assert_eq!(kept(), 0);
}

#[test]
fn finished_keys_can_be_added_again() {
    let queue = WorkQueue::new();
    for round in 0..3 {
        for key in 0..4 {
            queue.add(key);
        }
        queue.add(2); // already queued
        assert_eq!(all(&queue), [0, 1, 2, 3], "round {round}");
        queue.add(3);
        queue.add(10 + round);
        queue.add(0);
        assert_eq!(all(&queue), [3, 10 + round, 0], "round {round}");
    }
    assert_eq!(next(&queue), None);
}

/// A key with a constant hash.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Alike(u32);

impl Hash for Alike {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

#[test]
fn keys_with_equal_hashes_are_distinct() {
    let queue = WorkQueue::new();
    for key in [1, 2, 3, 1, 2] {
        queue.add(Alike(key));
    }
    assert_eq!(all(&queue), [1, 2, 3].map(Alike));
    for key in [4, 2, 4, 5, 1] {
        queue.add(Alike(key));
    }
    assert_eq!(all(&queue), [4, 2, 5, 1].map(Alike));
}
