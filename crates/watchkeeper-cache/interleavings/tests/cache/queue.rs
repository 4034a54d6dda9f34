//! Concurrent producers and consumers of a delta queue.

use std::collections::BTreeMap;
use std::sync::Arc;

use shuttle::future::block_on;
use shuttle::thread;
use watchkeeper_cache_interleavings::delta::{Delta, DeltaQueue, Incarnation, TrackingQueue};

use crate::interleave;
use crate::objects::Follower;

/// A UID and a version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State(u8, u8);

impl Incarnation for State {
    fn same_uid(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

#[test]
fn a_consumer_converges_with_concurrent_producers() {
    interleave(|| {
        let queue = Arc::new(TrackingQueue::default());
        let (putting, replacing, popping) = (queue.clone(), queue.clone(), queue.clone());
        let putting = thread::spawn(move || {
            putting.put("a", State(1, 1));
            putting.put("a", State(1, 2));
            putting.delete("a", State(1, 3));
            putting.put("c", State(3, 1));
        });
        let replacing = thread::spawn(move || {
            replacing.put("b", State(2, 1));
            replacing.replace([("a", State(1, 4)), ("b", State(2, 2))]);
            replacing.replace([("a", State(4, 1)), ("b", State(2, 3))]);
            replacing.resync();
        });
        let popping = thread::spawn(move || {
            let mut follower = Follower::default();
            while let Some((key, delta)) = block_on(popping.pop()) {
                follower.apply(key, delta);
            }
            follower.known
        });
        putting.join().unwrap();
        replacing.join().unwrap();
        queue.replace([("b", State(2, 4)), ("d", State(5, 1))]);
        queue.close();
        let expected = BTreeMap::from([("b", State(2, 4)), ("d", State(5, 1))]);
        assert_eq!(popping.join().unwrap(), expected);
    });
}

#[test]
fn each_delta_is_popped_by_one_consumer_and_close_ends_all() {
    interleave(|| {
        let queue = Arc::new(DeltaQueue::default());
        let popping = [queue.clone(), queue.clone()].map(|queue| {
            thread::spawn(move || {
                let mut popped = Vec::new();
                while let Some((key, _)) = block_on(queue.pop()) {
                    popped.push(key);
                }
                popped
            })
        });
        let pushing = [0, 10].map(|first| {
            let queue = queue.clone();
            thread::spawn(move || {
                queue.push(first, Delta::Added { new: State(1, 1), initial: false });
                let more = [first + 1, first + 2];
                queue.push_all(more.map(|key| (key, Delta::Added { new: State(1, 1), initial: false })));
            })
        });
        for pushing in pushing {
            pushing.join().unwrap();
        }
        queue.close();
        queue.push(99, Delta::Resync(State(1, 1)));
        let mut popped: Vec<i32> = popping.into_iter().flat_map(|popping| popping.join().unwrap()).collect();
        popped.sort_unstable();
        assert_eq!(popped, [0, 1, 2, 10, 11, 12]);
    });
}
